import { IconAlertTriangle, IconCheck, IconClock } from '@tabler/icons-react'
import type { MigrationDetail } from '@/api/types'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { asksToCommit } from '@/domain/migrations'
import { duration, NONE, rate } from '@/lib/format'
import { refusalOf } from '../choices'
import { DeedButton } from '../DeedButton'
import { EnginePage } from '../EngineSteps'
import { observedOf, type Observed, type ObservedCheck } from '../evidence'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** Before and after, rule by rule, for as long as the observation lasts. */
export function VerifyPage(props: StepProps) {
  const { migration, readOnly } = props
  const observed = observedOf(migration)
  return (
    <EnginePage {...props} page="verify">
      <Panel title="Before and after" note={observed ? timer(observed, migration) : undefined} flush>
        {observed ? <Checks observed={observed} /> : <Empty title="No results yet" />}
      </Panel>
      <Panel title="Next">
        <div className={classes.form}>
          <p className={classes.note}>{rule(migration)}</p>
          {migration.stage === 'VERIFYING' && migration.waits_for === null && (
            <DeedButton
              migration={migration}
              deed="advance"
              reason={readOnly ?? refusalOf(migration, 'advance')}
              quiet
            >
              Commit migration
            </DeedButton>
          )}
        </div>
      </Panel>
    </EnginePage>
  )
}

function timer({ seconds, left }: Observed, { stage }: MigrationDetail): string {
  const seen = `observed for ${duration(Math.floor(seconds) * 1_000)}`
  return stage === 'VERIFYING' && left > 0 ? `${seen}, ${duration(Math.ceil(left) * 1_000)} left` : seen
}

/** What the rules do at the end of the window, and before it. */
export function rule({ plan }: Pick<MigrationDetail, 'plan'>): string {
  if (!plan) return ''
  const { window, otherwise } = plan.rules
  const well = asksToCommit(plan) ? 'a decision is requested' : 'the migration commits automatically'
  const ill = otherwise === 'ask' ? 'a decision is requested' : 'it rolls back automatically'
  return (
    `If every check passes for ${duration(window * 1_000)}, ${well}. Otherwise ${ill}. ` +
    'An unbalanced ledger or a failed new run decides at once.'
  )
}

function Checks({ observed }: { observed: Observed }) {
  return (
    <Table
      label="Verification rules"
      head={
        <>
          <th>Rule</th>
          <th>Result</th>
          <th className="num">Before or predicted</th>
          <th className="num">Current</th>
        </>
      }
    >
      {observed.checks.map((check) => (
        <tr key={`${check.name} ${check.component ?? ''}`}>
          <th scope="row">
            {check.words}
            {check.fatal && <div className="dim">decides at once</div>}
          </th>
          <td>
            <Holds check={check} />
          </td>
          <td className="num">{figure(check.before)}</td>
          <td className="num">{figure(check.after)}</td>
        </tr>
      ))}
    </Table>
  )
}

function Holds({ check: { holds, waits = false } }: { check: ObservedCheck }) {
  if (waits)
    return (
      <ToneBadge tone="idle" icon={IconClock} plain>
        Waiting
      </ToneBadge>
    )
  return holds ? (
    <ToneBadge tone="ok" icon={IconCheck} plain>
      Passed
    </ToneBadge>
  ) : (
    <ToneBadge tone="bad" icon={IconAlertTriangle} plain>
      Failed
    </ToneBadge>
  )
}

function figure(value: number | string | null): string {
  if (value === null || value === '') return NONE
  return typeof value === 'number' ? rate(value) : value
}
