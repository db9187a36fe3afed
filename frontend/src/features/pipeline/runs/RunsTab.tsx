import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Fragment, useState } from 'react'
import { runsQuery } from '@/api/runs'
import type { Run } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { useNow } from '@/lib/clock'
import { between, duration, NONE } from '@/lib/format'
import { Cause, Outcome } from './Outcome'
import { RunBars } from './RunBars'
import { gapsOf } from './spans'
import { StacksDialog } from './StacksDialog'

const COLUMNS = 10

/** Every life of the agent, newest first. */
export function RunsTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const query = useInfiniteQuery(runsQuery(name))
  const [shown, setShown] = useState<Run | null>(null)
  const runs = query.data?.pages.flatMap(({ results }) => results) ?? []
  const gaps = gapsOf(runs, !query.hasNextPage)
  return (
    <Panel title="Runs" note="each run is one agent process" flush>
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data && runs.length === 0 && <Empty title="No runs yet">The first start creates run 1.</Empty>}
      {runs.length > 0 && <RunBars name={name} runs={runs} />}
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
            <Fragment key={run.id}>
              <RunRow run={run} name={name} onStacks={setShown} />
              {gaps.has(run.id) && (
                <tr>
                  <td colSpan={COLUMNS} className="dim">
                    {gaps.get(run.id)}
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </Table>
      )}
      <LoadMore query={query} />
      {shown && <StacksDialog name={name} run={shown} onClose={() => setShown(null)} />}
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
        <Cause run={run} />
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
