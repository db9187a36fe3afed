import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { lagQuery } from '@/api/pipelines'
import type { Lag } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { TimeChart } from '@/components/ui/TimeChart'
import { count, duration, NONE } from '@/lib/format'
import classes from './live.module.css'

const POLL_MS = 10_000
type Partition = Lag['partitions'][number]

/** How much waits in each partition and for how long, and one of them over time. */
export function PartitionLag({ name, minutes }: { name: string; minutes: number }) {
  const { data, error, refetch } = useQuery({ ...lagQuery(name, minutes), refetchInterval: POLL_MS })
  const [chosen, setChosen] = useState<string | null>(null)
  const shown = chosen ?? worst(data?.partitions ?? [])
  return (
    <Panel
      title="Lag by partition"
      actions={
        data &&
        shown && (
          <Select
            aria-label="Partition in the chart"
            data={data.partitions.map(keyOf)}
            value={shown}
            onChange={setChosen}
          />
        )
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.partitions.length === 0 && <Empty title="No lag is known yet" />}
      {data && shown && <History lag={data} shown={shown} />}
      {data && data.partitions.length > 0 && <Now partitions={data.partitions} />}
    </Panel>
  )
}

function History({ lag, shown }: { lag: Lag; shown: string }) {
  const times = useMemo(() => lag.points.map(({ at }) => Date.parse(at) / 1_000), [lag])
  const records = useMemo(() => lineOf(lag, shown, 'records'), [lag, shown])
  const seconds = useMemo(() => lineOf(lag, shown, 'seconds'), [lag, shown])
  return (
    <div className={`${classes.charts} ${classes.above}`}>
      <TimeChart
        label={`Waiting in ${shown}`}
        unit="records"
        color="--hg-chart-2"
        times={times}
        values={records}
        format={count}
        height={110}
      />
      <TimeChart
        label="Oldest waiting record"
        unit="s"
        color="--hg-chart-1"
        times={times}
        values={seconds}
        format={count}
        height={110}
      />
    </div>
  )
}

function Now({ partitions }: { partitions: Partition[] }) {
  return (
    <Table
      label="Lag by partition"
      maxHeight={260}
      head={
        <>
          <th>Partition</th>
          <th>Channel</th>
          <th className="num">Position</th>
          <th className="num">Log end</th>
          <th className="num">Records</th>
          <th className="num">Oldest record</th>
        </>
      }
    >
      {partitions.map((each) => (
        <tr key={keyOf(each)}>
          <th scope="row">
            {each.topic}/{each.partition}
          </th>
          <td>{each.channel}</td>
          <td className="num">{count(each.position)}</td>
          <td className="num">{count(each.end)}</td>
          <td className="num">{count(each.records)}</td>
          <td className="num">{each.seconds === null ? NONE : duration(each.seconds * 1_000)}</td>
        </tr>
      ))}
    </Table>
  )
}

export function keyOf({
  channel,
  topic,
  partition,
}: Pick<Partition, 'channel' | 'topic' | 'partition'>): string {
  return `${channel}: ${topic}/${partition}`
}

/** The partition in which most waits. */
function worst(partitions: Partition[]): string | null {
  const [first] = partitions.toSorted((a, b) => (b.records ?? -1) - (a.records ?? -1))
  return first ? keyOf(first) : null
}

/** What waited in one partition, window by window. */
export function lineOf(lag: Lag, shown: string, what: 'records' | 'seconds'): (number | null)[] {
  return lag.points.map(({ partitions }) => partitions.find((each) => keyOf(each) === shown)?.[what] ?? null)
}
