import { IconCircleCheck, IconHandStop } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import type { MigrationPlan } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty } from '@/components/ui/Feedback'
import { FindingList } from '@/components/ui/Findings'
import { Panel } from '@/components/ui/Panel'
import { Guarantees } from '@/components/definitions/Guarantees'
import { Copy } from '@/components/ui/CodeBlock'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { Moves } from '@/components/positions/Moves'
import { EvaluatedChanges } from '@/components/revisions/EvaluatedChanges'
import { watchCall } from '@/domain/migrationCalls'
import { CONSEQUENCES, STAGES } from '@/domain/migrations'
import { count, duration, plural } from '@/lib/format'
import { ConsequenceBadge } from '@/components/migrations/ConsequenceBadge'
import { DeedButton } from '../DeedButton'
import { Predictions } from '../Predictions'
import { SinkEnds, Translation } from '../Translation'
import { moves, summary } from '../translations'
import { useDeed } from '../useMigration'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

const COUNT_AGAIN_MS = 1_500
const COUNTS = 120

/** Everything that is decided before anything is changed; approve and start name it by its digest. */
export function PlanPage({ migration, readOnly }: StepProps) {
  const { plan, planned_at, plan_hash, steps, open } = migration
  useCounting(migration, readOnly)
  return (
    <>
      {plan ? (
        <>
          <Blockers plan={plan} />
          <Figures plan={plan} />
          <Predictions plan={plan} />
          <PassedTests plan={plan} />
          <Changes plan={plan} />
          {plan.guarantees.length > 0 && (
            <Panel title="Delivery guarantees" note="of each channel afterwards" flush>
              <Guarantees guarantees={plan.guarantees} />
            </Panel>
          )}
          {plan.moves.length > 0 && (
            <Panel title="Positions" note="as counted when the plan was made" flush>
              <Moves moves={plan.moves} />
            </Panel>
          )}
          <Elsewhere migration={migration} plan={plan} />
          <Steps plan={plan} />
        </>
      ) : (
        <Panel title="Plan">
          <Empty title="There is no plan yet" />
        </Panel>
      )}
      <Panel
        title="Plan digest"
        note={
          <>
            made at <Moment at={planned_at} />
          </>
        }
      >
        <div className={classes.form}>
          <div className={classes.choice}>
            <span className={classes.evidence}>{plan_hash}</span>
            <Copy text={plan_hash} label="Plan digest" />
          </div>
          {open && steps.length === 0 ? (
            <DeedButton migration={migration} deed="plan" reason={readOnly} quiet={!migration.stale}>
              Plan again
            </DeedButton>
          ) : (
            <ShowCall call={watchCall(migration)} subject="Get migration" />
          )}
        </div>
      </Panel>
    </>
  )
}

/** Where the host has yet to count or to preview, the plan is made again until it has, for three minutes. */
function useCounting(migration: StepProps['migration'], readOnly: string | null) {
  const { mutate, isPending } = useDeed(migration)
  const tries = useRef(0)
  const counting = isCounting(migration.plan) && migration.open && readOnly === null
  useEffect(() => {
    if (!counting || isPending || tries.current >= COUNTS) return
    const timer = setTimeout(() => {
      tries.current += 1
      mutate({ deed: 'plan' })
    }, COUNT_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [counting, isPending, mutate])
}

export function isCounting(plan: MigrationPlan | null): boolean {
  const codes = new Set(plan?.blockers.map(({ code }) => code))
  return codes.size === 1 && (codes.has('COUNTING') || codes.has('PREDICTING'))
}

function Blockers({ plan }: { plan: MigrationPlan }) {
  const { blockers, warnings } = plan
  return (
    <Panel
      title="Blockers"
      flush={blockers.length + warnings.length > 0}
      actions={
        blockers.length > 0 ? (
          <ToneBadge tone="bad" icon={IconHandStop}>
            {count(blockers.length)} blocking
          </ToneBadge>
        ) : (
          <ToneBadge tone="ok" icon={IconCircleCheck}>
            None
          </ToneBadge>
        )
      }
    >
      {blockers.length + warnings.length > 0 ? (
        <FindingList findings={[...blockers, ...warnings]} />
      ) : (
        <p className={classes.note}>Ready to start. All checks run again when you start.</p>
      )}
    </Panel>
  )
}

function PassedTests({ plan: { passed_tests: names } }: { plan: MigrationPlan }) {
  if (names.length === 0) return null
  return (
    <Panel
      title="Tests"
      note="of the new definition"
      actions={
        <ToneBadge tone="ok" icon={IconCircleCheck}>
          {plural(names.length, 'test')} passed
        </ToneBadge>
      }
    >
      <ul className={classes.names} aria-label="Tests that passed">
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
    </Panel>
  )
}

function Figures({ plan }: { plan: MigrationPlan }) {
  const { consequence, pause, skip, replay, target } = plan
  return (
    <Panel title="Expected impact" note={pause.words}>
      <dl className={classes.facts}>
        <div>
          <dt>Consequence</dt>
          <dd>
            <ConsequenceBadge consequence={consequence} />
            <div className="dim">{CONSEQUENCES[consequence].meaning}</div>
          </dd>
        </div>
        <div>
          <dt>Expected pause</dt>
          <dd>
            {duration(pause.expected * 1_000)}
            <div className="dim">at most {duration(pause.most * 1_000)}</div>
          </dd>
        </div>
        <div>
          <dt>Records skipped</dt>
          <dd data-tone={skip > 0 ? 'bad' : undefined}>{count(skip)}</dd>
        </div>
        <div>
          <dt>Records reread</dt>
          <dd>{count(replay)}</dd>
        </div>
        <div>
          <dt>Runs afterwards on</dt>
          <dd>
            {target.host || 'no host'},{' '}
            {target.revision === null ? 'a new revision' : `revision ${target.revision}`}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}

/** Of a move to another cluster: where each partition resumes, or where a sink's topics end. */
function Elsewhere({ migration, plan }: { migration: StepProps['migration']; plan: MigrationPlan }) {
  const what = moves(migration)
  const { translation, sink_ends } = plan
  if (what === null) return null
  if (translation.length + sink_ends.length === 0)
    return (
      <Panel title="New cluster">
        <Empty title={isCounting(plan) ? 'The host is inspecting both clusters' : 'No result yet'}>
          {isCounting(plan) ? 'The plan is updated when the result arrives.' : 'See the findings above.'}
        </Empty>
      </Panel>
    )
  return what === 'source' ? (
    <Panel title="Positions on the new cluster" note={summary(translation)} flush>
      <Translation rows={translation} />
      <p className={classes.under}>
        Translated again after the verified pause, at the exact stop position, before the old run ends.
      </p>
    </Panel>
  ) : (
    <Panel title="The sink's topics on the new cluster" note="before the first record is written" flush>
      <SinkEnds ends={sink_ends} />
    </Panel>
  )
}

function Changes({ plan }: { plan: MigrationPlan }) {
  return (
    <Panel title="Definition changes" note="by component; secrets are masked" flush>
      {plan.changes.length === 0 ? (
        <Empty title="No component changes" />
      ) : (
        <EvaluatedChanges changes={plan.changes} />
      )}
    </Panel>
  )
}

function Steps({ plan }: { plan: MigrationPlan }) {
  return (
    <Panel title="Steps" note="no component changes before the pause is verified" flush>
      <Table
        label="Planned steps"
        maxHeight={360}
        head={
          <>
            <th>Step</th>
            <th>Stage</th>
            <th className="num">At most</th>
            <th>Applies changes</th>
          </>
        }
      >
        {plan.steps.map((step) => (
          <tr key={step.name}>
            <th scope="row">{step.sentence}</th>
            <td>
              {STAGES[step.stage].label}
              {step.gate && <div className="dim">awaits approval first</div>}
            </td>
            <td className="num">{duration(step.seconds * 1_000)}</td>
            <td>{step.changes ? 'yes' : 'no'}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
