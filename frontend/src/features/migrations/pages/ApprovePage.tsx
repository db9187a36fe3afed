import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { IconCheck, IconHistory } from '@tabler/icons-react'
import { useState } from 'react'
import { sessionQuery } from '@/api/session'
import type { MigrationDetail } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { dropDraft } from '@/components/editor/draft'
import { watchCall } from '@/domain/migrationCalls'
import { count, plural } from '@/lib/format'
import { refusalOf } from '../choices'
import { DeedButton } from '../DeedButton'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** Who has to approve this plan, who has, and the button that starts it. */
export function ApprovePage({ migration, readOnly }: StepProps) {
  const { data: session } = useQuery(sessionQuery)
  const { approvers_needed, created_by } = migration
  const own = approvers_needed > 0 && session?.user === created_by
  const others = `You requested this migration. ${plural(approvers_needed, 'other user has', 'other users have')} to approve it.`
  return (
    <>
      <Panel title="Approvals" note={required(migration)} flush>
        {migration.approvals.length === 0 ? (
          <Empty title="No approvals yet" />
        ) : (
          <Approvals migration={migration} />
        )}
      </Panel>
      {migration.open && migration.steps.length === 0 && (
        <>
          <Panel title="Approve" note={`plan ${migration.plan_hash.slice(0, 12)}`}>
            <DeedButton
              migration={migration}
              deed="approve"
              reason={readOnly ?? (own ? others : null) ?? refusalOf(migration, 'approve')}
            >
              Approve plan
            </DeedButton>
          </Panel>
          <Start migration={migration} readOnly={readOnly} />
        </>
      )}
      {migration.steps.length > 0 && (
        <p className={classes.note}>
          Started at <Moment at={migration.started_at} />.
        </p>
      )}
      {(!migration.open || migration.steps.length > 0) && (
        <ShowCall call={watchCall(migration)} subject="Get migration" />
      )}
    </>
  )
}

/** A plan that predicts a loss is started by who types how many records it is. */
function Start({ migration, readOnly }: StepProps) {
  const [typed, setTyped] = useState('')
  const number = migration.plan?.to_acknowledge ?? null
  const isTyped = number === null || typed === String(number)
  const approves = migration.approvers_needed === 0 && refusalOf(migration, 'approve') === null
  return (
    <Panel title="Start migration" note="the old agent keeps running until the pause">
      <div className={classes.form}>
        {number !== null && (
          <>
            <p className={classes.note}>
              {count(number)} records that are delivered now would not be delivered any more, of the records
              that the plan has previewed.
            </p>
            <TextInput
              label={`Type ${number} to acknowledge`}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              inputMode="numeric"
              autoComplete="off"
            />
          </>
        )}
        <DeedButton
          migration={migration}
          deed={approves ? 'begin' : 'advance'}
          reason={
            readOnly ??
            (approves ? null : refusalOf(migration, 'advance')) ??
            (isTyped ? null : 'Type the number of records first.')
          }
          acknowledge={number ?? undefined}
          onDone={() => dropDraft(migration.pipeline)}
        >
          {approves ? 'Approve and start' : 'Start migration'}
        </DeedButton>
      </div>
    </Panel>
  )
}

function required({ approvers_needed, created_by }: MigrationDetail): string {
  if (approvers_needed === 0) return `No approval policy applies: ${created_by} can approve it`
  return `${plural(approvers_needed, 'user')} other than ${created_by}`
}

function Approvals({ migration }: { migration: MigrationDetail }) {
  return (
    <Table
      label="Approvals"
      head={
        <>
          <th>User</th>
          <th>Approved</th>
          <th>Plan</th>
          <th>Expires</th>
          <th>Valid</th>
        </>
      }
    >
      {migration.approvals.map(({ by, at, expires_at, hash, counts }) => (
        <tr key={`${by} ${hash}`}>
          <th scope="row">{by}</th>
          <td>
            <Moment at={at} />
          </td>
          <td className="mono" title={hash}>
            {hash.slice(0, 12)}
          </td>
          <td>
            <Moment at={expires_at} />
          </td>
          <td>
            {counts ? (
              <ToneBadge tone="ok" icon={IconCheck} plain>
                for this plan
              </ToneBadge>
            ) : (
              <ToneBadge tone="idle" icon={IconHistory} plain>
                {hash === migration.plan_hash ? 'not for this plan' : 'for an earlier plan'}
              </ToneBadge>
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}
