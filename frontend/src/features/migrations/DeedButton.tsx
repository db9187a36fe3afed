import type { ReactNode } from 'react'
import type { MigrationDetail } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { deedCall } from '@/domain/migrationCalls'
import { useDeed, type Deed } from './useMigration'
import classes from './migrations.module.css'

interface DeedProps {
  migration: MigrationDetail
  deed: Exclude<Deed, 'abort' | 'rollback' | 'close'>
  /** Why it cannot be asked for; null where it can. */
  reason: string | null
  children: string
  quiet?: boolean
  /** The number of records that the plan wants repeated. */
  acknowledge?: number
  onDone?: () => void
  beside?: ReactNode
}

/** A request of the way forward, in sight why it is refused, with its call. */
export function DeedButton({
  migration,
  deed,
  reason,
  children,
  quiet = false,
  acknowledge,
  onDone,
  beside,
}: DeedProps) {
  const request = useDeed(migration)
  return (
    <div className={classes.form}>
      {request.error && <ErrorNote error={request.error} />}
      <div className={classes.choice}>
        <ReasonButton
          variant={quiet || reason ? 'default' : 'filled'}
          reason={reason}
          loading={request.isPending}
          onClick={() => request.mutate({ deed, acknowledge }, { onSuccess: onDone })}
        >
          {children}
        </ReasonButton>
        {beside}
        {reason && <span className="dim">{reason}</span>}
      </div>
      <ShowCall call={deedCall(migration, deed, '', acknowledge)} subject={children} />
    </div>
  )
}
