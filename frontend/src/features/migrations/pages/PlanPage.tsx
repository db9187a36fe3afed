import { IconCircleCheck, IconHandStop } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import type { MigrationPlan } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty } from '@/components/ui/Feedback'
import { FindingList } from '@/components/ui/Findings'
import { Panel } from '@/components/ui/Panel'
import { Copy } from '@/components/ui/CodeBlock'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { Moves } from '@/components/positions/Moves'
import { ChangeTable } from '@/components/revisions/ChangeTable'
import { watchCall } from '@/domain/migrationCalls'
import { CONSEQUENCES, STAGES } from '@/domain/migrations'
import { count, duration } from '@/lib/format'
import { ConsequenceBadge } from '@/components/migrations/ConsequenceBadge'
import { DeedButton } from '../DeedButton'
import { SinkEnds, Translation } from '../Translation'
import { moves, summary } from '../translations'
import { useDeed } from '../useMigration'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

const COUNT_AGAIN_MS = 1_500
const COUNTS = 40

/** Everything that is decided before anything is touched; approve and begin name it by its hash. */
export function PlanPage({ migration, readOnly }: StepProps) {
  const { plan, planned_at, plan_hash, steps, open } = migration
  useCounting(migration, readOnly)
  return (
    <>
      {plan ? (
        <>
          <Blockers plan={plan} />
          <Figures plan={plan} />
          <Changes plan={plan} />
          {plan.moves.length > 0 && (
            <Panel title="Positions" note="as they were counted when it was planned" flush>
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
        title="This very plan"
        note={
          <>
            made at <Moment at={planned_at} />
          </>
        }
      >
        <div className={classes.form}>
          <div className={classes.choice}>
            <span className={classes.evidence}>{plan_hash}</span>
            <Copy text={plan_hash} label="Hash of the plan" />
          </div>
          {open && steps.length === 0 ? (
            <DeedButton migration={migration} deed="plan" reason={readOnly} quiet={!migration.stale}>
              Plan again
            </DeedButton>
          ) : (
            <ShowCall call={watchCall(migration)} subject="Watch" />
          )}
        </div>
      </Panel>
    </>
  )
}

/** Where the host has yet to count, the plan is made again until it has, for a minute. */
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
  return plan?.blockers.length === 1 && plan.blockers[0]?.code === 'COUNTING'
}

function Blockers({ plan }: { plan: MigrationPlan }) {
  const { blockers, warnings } = plan
  return (
    <Panel
      title="What stands in the way"
      flush={blockers.length + warnings.length > 0}
      actions={
        blockers.length > 0 ? (
          <ToneBadge tone="bad" icon={IconHandStop}>
            {count(blockers.length)} in the way
          </ToneBadge>
        ) : (
          <ToneBadge tone="ok" icon={IconCircleCheck}>
            Nothing
          </ToneBadge>
        )
      }
    >
      {blockers.length + warnings.length > 0 ? (
        <FindingList findings={[...blockers, ...warnings]} />
      ) : (
        <p className={classes.note}>It could be begun now. Everything is judged once more when it is.</p>
      )}
    </Panel>
  )
}

function Figures({ plan }: { plan: MigrationPlan }) {
  const { consequence, pause, skip, replay, target } = plan
  return (
    <Panel title="What it does to the stream" note={pause.words}>
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
          <dt>Records read again</dt>
          <dd>{count(replay)}</dd>
        </div>
        <div>
          <dt>Afterwards on</dt>
          <dd>
            {target.host || 'no host'},{' '}
            {target.revision === null ? 'a new revision' : `revision ${target.revision}`}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}

/** Of a move to another cluster: where each partition goes on, or where a sink's topics end. */
function Elsewhere({ migration, plan }: { migration: StepProps['migration']; plan: MigrationPlan }) {
  const what = moves(migration)
  const { translation, sink_ends } = plan
  if (what === null) return null
  if (translation.length + sink_ends.length === 0)
    return (
      <Panel title="On the other cluster">
        <Empty
          title={isCounting(plan) ? 'The host is looking at both clusters' : 'Nothing is known of it yet'}
        >
          {isCounting(plan) ? 'The plan is made again until it has.' : 'The findings above say why.'}
        </Empty>
      </Panel>
    )
  return what === 'source' ? (
    <Panel title="Positions on the other cluster" note={summary(translation)} flush>
      <Translation rows={translation} />
      <p className={classes.under}>
        Translated once more after the proven pause, at the exact stop, before the old run is ended.
      </p>
    </Panel>
  ) : (
    <Panel
      title="The sink's topics on the other cluster"
      note="before its first record is written there"
      flush
    >
      <SinkEnds ends={sink_ends} />
    </Panel>
  )
}

function Changes({ plan }: { plan: MigrationPlan }) {
  return (
    <Panel title="What changes in the definition" note="by meaning; secrets are masked" flush>
      {plan.changes.length === 0 ? (
        <Empty title="No component changes" />
      ) : (
        <ChangeTable
          label="What changes"
          changes={plan.changes.map(({ change, consequence, reason }) => ({
            change,
            beside: (
              <>
                <ConsequenceBadge consequence={consequence} />
                <div className="dim">{reason}</div>
              </>
            ),
          }))}
          before="Now"
          after="Then"
          beside="Consequence"
        />
      )}
    </Panel>
  )
}

function Steps({ plan }: { plan: MigrationPlan }) {
  return (
    <Panel title="Steps" note="no component changes before the pause is proven" flush>
      <Table
        label="Planned steps"
        maxHeight={360}
        head={
          <>
            <th>Step</th>
            <th>Stage</th>
            <th className="num">At most</th>
            <th>Changes something</th>
          </>
        }
      >
        {plan.steps.map((step) => (
          <tr key={step.name}>
            <th scope="row">{step.sentence}</th>
            <td>
              {STAGES[step.stage].label}
              {step.gate && <div className="dim">a person is asked first</div>}
            </td>
            <td className="num">{duration(step.seconds * 1_000)}</td>
            <td>{step.changes ? 'yes' : 'no'}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
