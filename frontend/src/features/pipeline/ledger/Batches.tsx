import { Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { IconAlertTriangle, IconCheck, IconProgress } from '@tabler/icons-react'
import { batchesQuery } from '@/api/ledger'
import type { LedgerBatch, OffsetRange } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { between, bytes, count, plural } from '@/lib/format'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { partsText } from './parts'
import { batchNumbers } from './words'
import classes from './ledger.module.css'

/** The ledger itself, newest first. A batch that does not balance is a red line. */
export function Batches({ name, channels }: { name: string; channels: string[] }) {
  const { channel, run } = useSearch({ from: '/pipelines/$name/ledger' })
  const navigate = useNavigate({ from: '/pipelines/$name/ledger' })
  const every = usePollInterval() / 3
  const query = useInfiniteQuery({
    ...batchesQuery(name, { channel, run }),
    refetchInterval: every,
  })
  const batches = query.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <Panel
      title="Batches"
      note="newest first; adjacent batches are merged as they age"
      flush
      actions={
        channels.length > 1 && (
          <Select
            aria-label="Channel"
            placeholder="Every channel"
            data={[...new Set(channels)]}
            value={channel ?? null}
            clearable
            clearButtonProps={{ 'aria-label': 'Every channel' }}
            onChange={(value) =>
              void navigate({
                search: (before) => ({ ...before, channel: value ?? undefined }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        )
      }
    >
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      <StaleFigures query={query} every={every} />
      {query.isPending && <Loading />}
      {query.data && batches.length === 0 && <Empty title="No batches" />}
      {batches.length > 0 && <BatchTable batches={batches} />}
      <LoadMore query={query} />
    </Panel>
  )
}

function BatchTable({ batches }: { batches: LedgerBatch[] }) {
  return (
    <Table
      label="Batches"
      maxHeight={460}
      head={
        <>
          <th>Batch</th>
          <th className="num">Run</th>
          <th>Channel</th>
          <th>State</th>
          <th className="num">Read</th>
          <th className="num">Delivered</th>
          <th className="num">Bytes</th>
          <th className="num">Filtered</th>
          <th>Sink</th>
          <th className="num">Duration</th>
          <th>Finished</th>
          <th>Ranges</th>
        </>
      }
    >
      {batches.map((batch) => (
        <tr key={batch.id} className={isWrong(batch) ? classes.bad : undefined}>
          <td>{batchNumbers(batch)}</td>
          <td className="num">{batch.run}</td>
          <td>{batch.channel}</td>
          <td>
            <BatchState batch={batch} />
          </td>
          <td className="num">{count(batch.read)}</td>
          <td className="num">{count(batch.delivered)}</td>
          <td className="num" title={batch.delivered_bytes === null ? 'Bytes not counted' : undefined}>
            {bytes(batch.delivered_bytes)}
          </td>
          <td className="num" title={partsText('filtered', batch)}>
            {count(batch.filtered)}
          </td>
          <td>
            {batch.sink}
            {batch.attempts > 1 && <span className="dim"> ({plural(batch.attempts, 'attempt')})</span>}
          </td>
          <td className="num">{between(batch.planned_at, batch.done_at)}</td>
          <td>
            <Moment at={batch.done_at} />
          </td>
          <td className={classes.ranges} title={batch.ranges.map(rangeText).join('\n')}>
            {batch.ranges.map(rangeText).join(', ')}
          </td>
        </tr>
      ))}
    </Table>
  )
}

function isWrong(batch: LedgerBatch): boolean {
  return batch.state === 'done' && !batch.balanced
}

function rangeText({ topic, partition, start, end }: OffsetRange): string {
  return `${topic}/${partition} ${count(start)}–${count(end)}`
}

function BatchState({ batch }: { batch: LedgerBatch }) {
  if (batch.state === 'planned') {
    return (
      <ToneBadge tone="busy" icon={IconProgress} plain>
        in flight
      </ToneBadge>
    )
  }
  return batch.balanced ? (
    <ToneBadge tone="ok" icon={IconCheck} plain>
      balanced
    </ToneBadge>
  ) : (
    <ToneBadge tone="bad" icon={IconAlertTriangle} plain>
      unbalanced
    </ToneBadge>
  )
}
