import { Group, SegmentedControl, useComputedColorScheme } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { partitionChartsQuery } from '@/api/charts'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { useShortTime } from '@/components/ui/Time'
import { count, NONE, plural } from '@/lib/format'
import { seconds, windowAt } from './columns'
import { useAtCrosshair } from './crosshair'
import { HeatCanvas } from './HeatCanvas'
import {
  channelOf,
  colorOf,
  legendOf,
  mostOf,
  nameOf,
  ordered,
  topOf,
  type PartitionCharts,
  type PartitionColumns,
} from './heat'
import { pollOf, queryOf } from './range'
import { useChartSearch, type ChartSearch } from './search'
import classes from './charts.module.css'

const MEASURES = [
  { value: 'records', label: 'Records' },
  { value: 'seconds', label: 'Time' },
]
const VIEWS = [
  { value: 'chart', label: 'Heat map' },
  { value: 'table', label: 'Table' },
]
const ORDERS = [
  { value: 'name', label: 'By number' },
  { value: 'lag', label: 'Most first' },
]

const records = (value: number | null) => (value === null ? NONE : plural(value, 'record'))

/** The lag of every partition over the same range as the charts. */
export function PartitionHeat({ name }: { name: string }) {
  const { search, set } = useChartSearch()
  const query = useQuery({
    ...partitionChartsQuery(name, queryOf(search)),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => pollOf(search, Math.max(30, state.data?.step ?? 0)),
  })
  const { data, error, refetch } = query
  const choose = (change: ChartSearch) => set({ ...search, ...change })
  const controls = (
    <Group gap={8} mb={8}>
      <SegmentedControl
        aria-label="Order of partitions"
        data={ORDERS}
        value={search.order ?? 'name'}
        onChange={(value) => choose({ order: value === 'lag' ? 'lag' : undefined })}
      />
      <SegmentedControl
        aria-label="Measure"
        data={MEASURES}
        value={search.heat ?? 'records'}
        onChange={(value) => choose({ heat: value === 'seconds' ? 'seconds' : undefined })}
      />
      <SegmentedControl
        aria-label="Lag by partition shown as"
        data={VIEWS}
        value={search.tables?.includes('heat') ? 'table' : 'chart'}
        onChange={(value) => choose({ tables: toggled(search.tables, 'heat', value === 'table') })}
      />
    </Group>
  )
  return (
    <Panel title="Lag by partition" note="over the range of the charts">
      {controls}
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      <StaleFigures query={query} every={pollOf(search, Math.max(30, data?.step ?? 0))} />
      {!data && !error && <Loading rows={6} />}
      {data && <Partitions charts={data} search={search} />}
    </Panel>
  )
}

/** The names of charts whose table is shown, with one more or one less. */
export function toggled(tables: string[] | undefined, key: string, shown: boolean): string[] | undefined {
  const others = (tables ?? []).filter((each) => each !== key)
  const found = shown ? [...others, key] : others
  return found.length > 0 ? found : undefined
}

function Partitions({ charts, search }: { charts: PartitionCharts; search: ChartSearch }) {
  const measure = search.heat ?? 'records'
  const order = search.order ?? 'name'
  const partitions = useMemo(
    () => ordered(charts.partitions, order, measure),
    [charts.partitions, order, measure],
  )
  const times = useMemo(() => charts.at.map((at) => Date.parse(at) / 1_000), [charts.at])
  const span = useMemo(
    () => ({ from: Date.parse(charts.since) / 1_000, to: Date.parse(charts.until) / 1_000 }),
    [charts.since, charts.until],
  )
  if (partitions.length === 0)
    return (
      <Empty title="No lag in this range">
        It is measured once a minute, while the pipeline runs and while it does not.
      </Empty>
    )
  const top = topOf(partitions, measure)
  const format = measure === 'records' ? records : seconds
  return (
    <>
      {search.tables?.includes('heat') ? (
        <PartitionTable partitions={partitions} times={times} step={charts.step} />
      ) : (
        <>
          <HeatCanvas {...{ partitions, measure, times, span, top, format }} step={charts.step} />
          <Legend top={top} format={measure === 'records' ? count : seconds} />
        </>
      )}
      {charts.left_out > 0 && (
        <p className={classes.cell}>
          {plural(charts.left_out, 'partition')} with less lag {charts.left_out === 1 ? 'is' : 'are'} left
          out.
        </p>
      )}
    </>
  )
}

/** The colours with their values, on the logarithmic scale that they are of. */
function Legend({ top, format }: { top: number; format: (value: number | null) => string }) {
  const scheme = useComputedColorScheme('light')
  return (
    <ul className={classes.scale} aria-label="Colours">
      {legendOf(top).map((value) => (
        <li key={value}>
          <span className={classes.tint} style={{ background: colorOf(value, top, scheme) }} />
          {format(value)}
        </li>
      ))}
      <li>
        <span className={classes.tint} data-unknown /> not measured
      </li>
    </ul>
  )
}

interface PartitionTableProps {
  partitions: PartitionColumns[]
  times: number[]
  step: number
}

/** The heat map in figures: each partition where the crosshair is, or at the end, and at its worst. */
function PartitionTable({ partitions, times, step }: PartitionTableProps) {
  const short = useShortTime()
  const column = useAtCrosshair((at) => windowAt(times, step, at)) ?? times.length - 1
  const at = times[column]
  const iso = (time: number | undefined) => (time === undefined ? null : new Date(time * 1_000).toISOString())
  return (
    <Table
      label="Lag by partition"
      maxHeight={420}
      head={
        <>
          <th>Partition</th>
          <th>Channel</th>
          <th className="num">At {short(iso(at))}</th>
          <th className="num">Oldest record</th>
          <th className="num">Most</th>
          <th>Most at</th>
          <th className="num">Oldest of all</th>
        </>
      }
    >
      {partitions.map((each) => {
        const most = mostOf(each.records)
        return (
          <tr key={`${each.source} ${each.channel} ${nameOf(each)}`}>
            <th scope="row">{nameOf(each)}</th>
            <td>{channelOf(each)}</td>
            <td className="num">{count(each.records[column])}</td>
            <td className="num">{seconds(each.seconds[column] ?? null)}</td>
            <td className="num">{count(most)}</td>
            <td>{most === null ? NONE : short(iso(times[each.records.indexOf(most)]))}</td>
            <td className="num">{seconds(mostOf(each.seconds))}</td>
          </tr>
        )
      })}
    </Table>
  )
}
