import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import {
  IconAlertTriangle,
  IconCheck,
  IconCircleX,
  IconHandStop,
  IconHelpCircle,
  IconPlayerPlayFilled,
  IconSkull,
  type Icon,
} from '@tabler/icons-react'
import { useState } from 'react'
import { runsQuery } from '@/api/runs'
import type { Run } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { useNow } from '@/lib/clock'
import { between, duration, NONE } from '@/lib/format'
import { StacksDialog } from './StacksDialog'

/** Every life of the agent, newest first. */
export function RunsTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const query = useInfiniteQuery(runsQuery(name))
  const [shown, setShown] = useState<Run | null>(null)
  const runs = query.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <Panel title="Runs" note="each run is one agent process" flush>
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data && runs.length === 0 && <Empty title="No runs yet">The first start creates run 1.</Empty>}
      {runs.length > 0 && (
        <Table
          label="Runs"
          head={
            <>
              <th>Run</th>
              <th>Outcome</th>
              <th>Reason</th>
              <th>Host</th>
              <th>Revision</th>
              <th>Started</th>
              <th className="num">To first record</th>
              <th className="num">Duration</th>
              <th>Log</th>
              <th>Stacks</th>
            </>
          }
        >
          {runs.map((run) => (
            <RunRow key={run.id} run={run} name={name} onStacks={setShown} />
          ))}
        </Table>
      )}
      <LoadMore query={query} />
      {shown && <StacksDialog run={shown} onClose={() => setShown(null)} />}
    </Panel>
  )
}

interface RowProps {
  run: Run
  name: string
  onStacks: (run: Run) => void
}

function RunRow({ run, name, onStacks }: RowProps) {
  const now = useNow()
  const started = run.started_at ? Date.parse(run.started_at) : null
  const ended = run.ended_at ? Date.parse(run.ended_at) : now
  const pids = `driver ${run.driver_pid ?? NONE}, keeper ${run.keeper_pid ?? NONE}, ${run.run_dir}`
  return (
    <tr>
      <td title={pids}>{run.number}</td>
      <td>
        <Outcome run={run} />
      </td>
      <td>
        {run.exit_reason || (run.ended_at ? NONE : LIVING[run.role])}
        <HowItEnded run={run} />
      </td>
      <td>{run.host}</td>
      <td>{run.revision}</td>
      <td>
        <Moment at={run.started_at} />
      </td>
      <td className="num">{between(run.start_requested_at, run.first_record_at)}</td>
      <td className="num">{started === null ? NONE : duration(ended - started)}</td>
      <td>
        <Link
          to="/pipelines/$name/log"
          params={{ name }}
          search={{ run: run.id }}
          aria-label={`Log of run ${run.number}`}
        >
          Log
        </Link>
      </td>
      <td>
        <Button
          variant="subtle"
          size="compact-xs"
          aria-label={`Show the stacks of run ${run.number}`}
          onClick={() => onStacks(run)}
        >
          Show
        </Button>
      </td>
    </tr>
  )
}

const LIVING: Record<Run['role'], string> = {
  ACTIVE: 'Running',
  STANDBY: 'Waits to take over; consumes nothing',
}

const STOP_STAGES: Record<string, string> = {
  DRAIN: 'Ended at a batch boundary',
  INTERRUPT: 'Ended by an interrupt',
  KILL: 'Killed',
}

/** The stage that its stop escalated to, and what was busy then. */
function HowItEnded({ run: { stop_stage, stuck } }: { run: Run }) {
  const words = [STOP_STAGES[stop_stage], stuck.length > 0 && `busy: ${stuck.join(', ')}`].filter(Boolean)
  return words.length > 0 && <div className="dim">{words.join('; ')}</div>
}

type Outcome = NonNullable<Run['outcome']>

const OUTCOMES: Record<Outcome, { tone: Tone; icon: Icon; word: string }> = {
  CLEAN: { tone: 'ok', icon: IconCheck, word: 'Clean' },
  FAILED: { tone: 'bad', icon: IconCircleX, word: 'Failed' },
  BLOCKED: { tone: 'bad', icon: IconHandStop, word: 'Blocked' },
  CRASHED: { tone: 'bad', icon: IconAlertTriangle, word: 'Crashed' },
  KILLED: { tone: 'warn', icon: IconSkull, word: 'Killed' },
  LOST: { tone: 'bad', icon: IconHelpCircle, word: 'Lost' },
}

function Outcome({ run }: { run: Run }) {
  if (!run.outcome) {
    return (
      <ToneBadge tone="busy" icon={IconPlayerPlayFilled}>
        {run.state === 'PENDING' ? 'Starting' : run.role === 'STANDBY' ? 'Standby' : 'Running'}
      </ToneBadge>
    )
  }
  const { tone, icon, word } = OUTCOMES[run.outcome]
  return (
    <ToneBadge tone={tone} icon={icon}>
      {word}
    </ToneBadge>
  )
}
