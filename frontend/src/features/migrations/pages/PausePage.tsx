import { Link } from '@tanstack/react-router'
import type { MigrationDetail } from '@/api/types'
import { Panel } from '@/components/ui/Panel'
import { Moment } from '@/components/ui/Time'
import { useNow } from '@/lib/clock'
import { count, duration, NONE, plural, rate } from '@/lib/format'
import { EnginePage } from '../EngineSteps'
import { rowsOf, secondsLeft } from '../steps'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** What the pause waits for, how long it may, and the impact of killing it instead. */
export function PausePage(props: StepProps) {
  const { migration } = props
  return (
    <EnginePage {...props} page="pause">
      {migration.draining && <Draining migration={migration} />}
      {migration.drain_dump && <AtWork pipeline={migration.pipeline} dump={migration.drain_dump} />}
      {migration.open && <Force migration={migration} />}
    </EnginePage>
  )
}

function Draining({ migration }: { migration: MigrationDetail }) {
  const now = useNow()
  const row = rowsOf(migration, 'pause').find(({ state }) => state === 'running')
  const left = row ? secondsLeft(row, now) : null
  const { records, batches, rate: before, held_by } = migration.draining!
  return (
    <Panel title="In flight" note="no new batch starts; in-flight batches finish">
      <dl className={classes.facts} aria-live="off">
        <Fact name="Records remaining" value={records === 0 ? '0 known' : `up to ${count(records)}`} />
        <Fact name="Batches" value={plural(batches, 'batch', 'batches')} />
        <Fact name="Rate before the pause" value={before === null ? NONE : `${rate(before)} records/s`} />
        <Fact name="Time left" value={timeLeft(left)} />
        <Fact name="Delayed by" value={held_by.join(', ') || 'nothing'} />
      </dl>
    </Panel>
  )
}

type DrainDump = NonNullable<MigrationDetail['drain_dump']>

/** What the agent was doing when its pause timed out. */
function AtWork({ pipeline, dump }: { pipeline: string; dump: DrainDump }) {
  return (
    <Panel title="Busy at the deadline" note="why the drain timed out">
      <p className={classes.note}>
        {dump.stuck.length > 0 ? <code>{dump.stuck.join(', ')}</code> : 'No component'},{' '}
        <Moment at={dump.at} />. The stacks of all its threads are in the{' '}
        <Link to="/pipelines/$name/runs" params={{ name: pipeline }}>
          dumps of run {dump.number}
        </Link>
        .
      </p>
    </Panel>
  )
}

const timeLeft = (seconds: number | null) =>
  seconds === null ? NONE : seconds > 0 ? duration(seconds * 1_000) : 'none, rolling back'

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

/** A forced pause cannot be verified, so none is forced: the migration would end, and with it what it guarantees. */
function Force({ migration: { pipeline, draining } }: { migration: MigrationDetail }) {
  const impact = draining?.records
    ? `at most ${count(draining.records)} possible duplicates`
    : 'duplicates of in-flight records are possible'
  return (
    <Panel title="If the drain does not finish" note="cancel, or force stop">
      <p className={classes.note}>
        Cancel the migration (below) to cancel the pause: the old agent resumes where it stands. At the
        deadline this happens automatically. A pause is never forced, because a forced pause cannot be
        verified. To end the old run anyway, cancel this migration and force stop{' '}
        <Link to="/pipelines/$name" params={{ name: pipeline }}>
          {pipeline}
        </Link>{' '}
        from its page: {impact}.
      </p>
    </Panel>
  )
}
