import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import {
  abortMigration,
  advanceMigration,
  approveMigration,
  migrationQuery,
  planMigration,
  revertMigration,
  rollBackMigration,
} from '@/api/migrations'
import type { MigrationAction, MigrationDetail } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { isWorking, STAGES } from '@/domain/migrations'
import { usePollInterval } from '@/lib/live/LiveProvider'

const AT_WORK_MS = 1_000

/** A migration as it is now. While it is at work its messages change without events, so it is asked for often. */
export function useMigration(id: string) {
  const poll = usePollInterval()
  return useQuery({
    ...migrationQuery(id),
    refetchInterval: ({ state }) => (state.data && isWorking(state.data.stage) ? AT_WORK_MS : poll),
  })
}

/** What can be asked for: the choices that REST offers, planning anew, and approving and starting the plan in sight. */
export type Deed = MigrationAction | 'plan' | 'begin'

export interface Request {
  deed: Deed
  reason?: string
  /** The number of records that the plan wants repeated before it starts. */
  acknowledge?: number
}

/** Asks for something; nothing is shown as done before the server has said so. */
export function useDeed(migration: Pick<MigrationDetail, 'id' | 'plan_hash' | 'pipeline'>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (request: Request) => ask(migration, request),
    onSuccess: (answer) => {
      client.setQueryData(keys.migration(answer.id), answer)
      announce(`${STAGES[answer.stage].label}: ${answer.message}`)
    },
    onSettled: () => {
      void client.invalidateQueries({ queryKey: keys.anyMigration })
      void client.invalidateQueries({ queryKey: keys.pipeline(migration.pipeline) })
    },
  })
}

function ask(
  { id, plan_hash }: Pick<MigrationDetail, 'id' | 'plan_hash'>,
  { deed, reason = '', acknowledge }: Request,
): Promise<MigrationDetail> {
  switch (deed) {
    case 'plan':
      return planMigration(id)
    case 'approve':
      return approveMigration(id, plan_hash)
    case 'begin':
      return approveMigration(id, plan_hash).then(() => advanceMigration(id, plan_hash, acknowledge))
    case 'advance':
      return advanceMigration(id, plan_hash, acknowledge)
    case 'rollback':
      return rollBackMigration(id, reason)
    case 'revert':
      return revertMigration(id, reason)
    case 'abort':
    case 'close':
      return abortMigration(id, reason)
  }
}
