import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { timelineQuery } from '@/api/migrations'
import type { MigrationDetail, MigrationTimeline, Timeline } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { timelineCall } from '@/domain/migrationCalls'
import { isWorking } from '@/domain/migrations'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { aroundPause, wholeOf } from './scale'
import { TimelineChart } from './TimelineChart'
import { TimelineTable } from './TimelineTable'
import classes from './timeline.module.css'

const VIEWS = [
  { value: 'chart', label: 'Chart' },
  { value: 'table', label: 'Table' },
]
const RANGES = [
  { value: 'whole', label: 'Whole' },
  { value: 'pause', label: 'Pause' },
]
const AT_WORK_MS = 2_000

/** A migration that was started, from some time before to some time after. Range and view are in the address. */
export function TimelinePanel({ migration }: { migration: MigrationDetail }) {
  return migration.started_at === null ? null : <Started migration={migration} />
}

function Started({ migration }: { migration: MigrationDetail }) {
  const poll = usePollInterval()
  const { data, error, refetch } = useQuery({
    ...timelineQuery(migration.id),
    refetchInterval: isWorking(migration.stage) ? AT_WORK_MS : migration.open && poll,
  })
  const { timeline: view, range } = useSearch({ strict: false })
  const shown = data?.timeline
  return (
    <Panel
      title="Timeline"
      note={migration.open ? 'in progress' : undefined}
      actions={shown && <Choices view={view} range={range} hasPause={shown.pauses.length > 0} />}
      flush={view === 'table'}
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={6} />}
      {data && shown && <Content answer={data} shown={shown} view={view} range={range} />}
      <div className={view === 'table' ? classes.under : undefined}>
        <ShowCall call={timelineCall(migration)} subject="Timeline" />
      </div>
    </Panel>
  )
}

interface Shown {
  view: 'table' | undefined
  range: 'pause' | undefined
}

function Content({
  answer: { points },
  shown,
  view,
  range,
}: Shown & { answer: MigrationTimeline; shown: Timeline }) {
  if (view === 'table') return <TimelineTable timeline={shown} points={points} />
  const [whole, pause] = [wholeOf(shown), shown.pauses[0]]
  const domain = range === 'pause' && pause ? aroundPause(whole, pause) : whole
  return <TimelineChart timeline={shown} points={points} domain={domain} />
}

function Choices({ view, range, hasPause }: Shown & { hasPause: boolean }) {
  const navigate = useNavigate()
  const choose = (timeline: Shown['view'], around: Shown['range']) =>
    void navigate({ to: '.', search: { timeline, range: around }, replace: true, resetScroll: false })
  return (
    <>
      {hasPause && view !== 'table' && (
        <SegmentedControl
          aria-label="Range of the timeline"
          data={RANGES}
          value={range ?? 'whole'}
          onChange={(value) => choose(view, value === 'pause' ? 'pause' : undefined)}
        />
      )}
      <SegmentedControl
        aria-label="Timeline shown as"
        data={VIEWS}
        value={view ?? 'chart'}
        onChange={(value) => choose(value === 'table' ? 'table' : undefined, range)}
      />
    </>
  )
}
