import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
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
        {observed ? <Checks observed={observed} /> : <Empty title="Nothing has been observed yet" />}
      </Panel>
      <Panel title="What follows">
        <div className={classes.form}>
          <p className={classes.note}>{rule(migration)}</p>
          {migration.stage === 'VERIFYING' && migration.waits_for === null && (
            <DeedButton
              migration={migration}
              deed="advance"
              reason={readOnly ?? refusalOf(migration, 'advance')}
              quiet
            >
              Commit now
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
  const well = asksToCommit(plan) ? 'a person is asked to commit' : 'it commits by itself'
  const ill = otherwise === 'ask' ? 'a person is asked what to do' : 'it is rolled back by itself'
  return (
    `When every rule holds after ${duration(window * 1_000)}, ${well}; otherwise ${ill}. ` +
    'Books that do not balance, and a new run that does not live, do not wait for the end.'
  )
}

function Checks({ observed }: { observed: Observed }) {
  return (
    <Table
      label="Rules of the observation"
      head={
        <>
          <th>Rule</th>
          <th>Holds</th>
          <th className="num">Before</th>
          <th className="num">Now</th>
        </>
      }
    >
      {observed.checks.map((check) => (
        <tr key={check.name}>
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

function Holds({ check: { holds } }: { check: ObservedCheck }) {
  return holds ? (
    <ToneBadge tone="ok" icon={IconCheck} plain>
      holds
    </ToneBadge>
  ) : (
    <ToneBadge tone="bad" icon={IconAlertTriangle} plain>
      does not hold
    </ToneBadge>
  )
}

function figure(value: number | string | null): string {
  if (value === null || value === '') return NONE
  return typeof value === 'number' ? rate(value) : value
}
