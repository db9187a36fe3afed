import { Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { applyPositions, planQuery } from '@/api/positions'
import type { PositionPlan } from '@/api/types'
import { ConfirmByName } from '@/components/actions/ConfirmByName'
import { ShowCall } from '@/components/actions/ShowCall'
import { Moves } from '@/components/positions/Moves'
import { ChangeError } from '@/components/governance/ChangeError'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { applyPositionsCall } from '@/domain/calls'
import { count, plural } from '@/lib/format'
import { inWords } from './words'
import classes from './positions.module.css'

interface DecideProps {
  name: string
  to: string
  onClose: () => void
}

/** The plan of one choice, to the record, and its confirmation: it is applied exactly as it was shown. */
export function DecideDialog({ name, to, onClose }: DecideProps) {
  const client = useQueryClient()
  const plan = useQuery(planQuery(name, to))
  const decision = useMutation({
    mutationFn: (hash: string) => applyPositions(name, hash),
    onSuccess: () => {
      announce(`${name} starts next at: ${inWords(to)}.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(name) }),
  })
  const hash = plan.data?.hash ?? null
  return (
    <Modal opened onClose={onClose} title={`Resume at: ${inWords(to)}?`} size="xl">
      <Stack gap="md">
        {plan.isPending && <Loading />}
        {plan.error && <ErrorNote error={plan.error} onRetry={() => void plan.refetch()} />}
        {plan.data && <Consequences plan={plan.data} />}
        {decision.error && hash && (
          <ChangeError error={decision.error} name={name} kind="positions" arguments={{ hash }} />
        )}
        {hash && <ShowCall call={applyPositionsCall(name, hash)} subject="Apply position" />}
        <ConfirmByName
          name={name}
          keep="Cancel"
          act="Apply position"
          blocked={hash ? null : 'There is no plan to apply.'}
          pending={decision.isPending}
          onAct={() => hash && decision.mutate(hash)}
          onClose={onClose}
        />
      </Stack>
    </Modal>
  )
}

function Consequences({ plan }: { plan: PositionPlan }) {
  if (plan.state === 'PENDING') {
    return <Text size="sm">The host did not respond within 30 s. Plan again when its worker runs.</Text>
  }
  return (
    <>
      <dl className={classes.sums} aria-label="Expected impact">
        <Sum label="Skipped" value={plan.skip} />
        <Sum label="Reread" value={plan.replay} />
        <Sum label="Deleted from the log" value={plan.gone} />
        <Sum label="Possible duplicates" value={plan.possible_duplicates} />
      </dl>
      <Text size="sm">
        The next start creates a new lineage in {plural(plan.partitions.length, 'partition')}. Skipped records
        are never delivered. Reread records reach the sinks again; sinks without deduplication keep them
        twice.
      </Text>
      <Moves moves={plan.partitions} />
    </>
  )
}

function Sum({ label, value }: { label: string; value: number }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{count(value)}</dd>
    </div>
  )
}
