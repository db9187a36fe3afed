import { SegmentedControl } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { eventsQuery } from '@/api/events'
import { seriesQuery } from '@/api/pipelines'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { TimeChart } from '@/components/ui/TimeChart'
import { Moment } from '@/components/ui/Time'
import { count, rate } from '@/lib/format'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { marksOf, toColumns, wordsAt } from './series'
import classes from './live.module.css'

const RANGES = [
  { value: '5', label: '5 min' },
  { value: '15', label: '15 min' },
  { value: '60', label: '1 h' },
]
const VIEWS = [
  { value: 'chart', label: 'Chart' },
  { value: 'table', label: 'Table' },
]

/** Rate and lag over time. Range and view are in the address. */
export function Charts({ name }: { name: string }) {
  const { minutes = 15, view } = useSearch({ from: '/pipelines/$name/throughput' })
  const navigate = useNavigate({ from: '/pipelines/$name/throughput' })
  const {
    data: points,
    error,
    refetch,
  } = useQuery({ ...seriesQuery(name, minutes), refetchInterval: usePollInterval() })
  const actions = (
    <>
      <SegmentedControl
        aria-label="Range"
        data={RANGES}
        value={String(minutes)}
        onChange={(value) =>
          void navigate({ search: { minutes: Number(value), view }, replace: true, resetScroll: false })
        }
      />
      <SegmentedControl
        aria-label="Shown as"
        data={VIEWS}
        value={view ?? 'chart'}
        onChange={(value) =>
          void navigate({
            search: { minutes, view: value === 'table' ? 'table' : undefined },
            replace: true,
            resetScroll: false,
          })
        }
      />
    </>
  )
  return (
    <Panel title="Throughput and lag" actions={actions}>
      {error && !points && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!points && !error && <Loading rows={6} />}
      {points?.length === 0 && (
        <Empty title="No data in this range">Data appears with the first batch.</Empty>
      )}
      {points &&
        points.length > 0 &&
        (view === 'table' ? (
          <SeriesTable name={name} points={points} />
        ) : (
          <Lines name={name} points={points} />
        ))}
    </Panel>
  )
}

type Points = { at: string; records_per_second: number | null; lag_records: number | null }[]

function useMarks(name: string) {
  const { data: events } = useInfiniteQuery(eventsQuery(name))
  return useMemo(() => marksOf(events?.pages.flatMap(({ results }) => results) ?? []), [events])
}

function Lines({ name, points }: { name: string; points: Points }) {
  const columns = useMemo(() => toColumns(points), [points])
  const marks = useMarks(name)
  return (
    <div className={classes.charts}>
      <TimeChart
        label="Rate"
        unit="records/s"
        color="--hg-chart-1"
        times={columns.times}
        values={columns.rates}
        format={rate}
        marks={marks}
      />
      <TimeChart
        label="Lag"
        unit="records"
        color="--hg-chart-2"
        times={columns.times}
        values={columns.lags}
        format={count}
        marks={marks}
      />
    </div>
  )
}

function SeriesTable({ name, points }: { name: string; points: Points }) {
  const marks = useMarks(name)
  return (
    <Table
      label="Rate and lag, newest first"
      maxHeight={320}
      head={
        <>
          <th>Time</th>
          <th className="num">Records/s</th>
          <th className="num">Lag</th>
          <th>Events</th>
        </>
      }
    >
      {points.toReversed().map((point, index, rows) => (
        <tr key={point.at}>
          <td>
            <Moment at={point.at} />
          </td>
          <td className="num">{rate(point.records_per_second)}</td>
          <td className="num">{count(point.lag_records)}</td>
          <td>{wordsAt(marks, point.at, rows[index + 1]?.at)}</td>
        </tr>
      ))}
    </Table>
  )
}
