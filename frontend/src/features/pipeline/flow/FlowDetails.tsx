import { Drawer, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { batchesQuery } from '@/api/ledger'
import type { LedgerBatch } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { count, plural } from '@/lib/format'
import { batchNumbers } from '../ledger/words'
import { questionOf, written } from '../trace/question'
import { pollOf } from '../windows'
import { filterOf, OUTCOMES, recordsOf, shareWords, wayWords, type Way } from './ways'
import classes from './flow.module.css'

interface DetailsProps {
  name: string
  way: Way
  share: number | null
  minutes: number
  onClose: () => void
}

/** One flow: the batches that it is the sum of, and where to look for their records. */
export function FlowDetails({ name, way, share, minutes, onClose }: DetailsProps) {
  const query = useInfiniteQuery({
    ...batchesQuery(name, filterOf(way, minutes)),
    refetchInterval: pollOf(minutes),
  })
  const batches = (query.data?.pages.flatMap(({ results }) => results) ?? []).filter((batch) =>
    recordsOf(batch, way),
  )
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title={wayWords(way)}>
      <Stack gap="md">
        <Text size="sm">
          <SourceToChannel source={way.source} channel={way.channel} />
          {way.component && <span className={`mono ${classes.path}`}>{way.component}</span>}
        </Text>
        <Text size="sm">
          {plural(way.records, 'record')}
          {share !== null && `, ${shareWords(share)} of what was read and added`}. The ledger counts the
          records of each batch. Trace one to see which they are.
        </Text>
        {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
        {query.isPending && <Loading />}
        {query.data && batches.length === 0 && <Empty title="No batch of this time has such records" />}
        {batches.length > 0 && <Batches name={name} way={way} batches={batches} />}
        <LoadMore query={query} />
        <Next name={name} way={way} />
      </Stack>
    </Drawer>
  )
}

function Batches({ name, way, batches }: { name: string; way: Way; batches: LedgerBatch[] }) {
  return (
    <Table
      label="Batches of this flow"
      maxHeight={460}
      head={
        <>
          <th>Batch</th>
          <th className="num">Run</th>
          <th className="num">{OUTCOMES[way.outcome].word}</th>
          {way.outcome !== 'read' && <th className="num">Read</th>}
          <th>Finished</th>
          <th>First record</th>
        </>
      }
    >
      {batches.map((batch) => (
        <tr key={batch.id}>
          <td>{batchNumbers(batch)}</td>
          <td className="num">{batch.run}</td>
          <td className="num">{count(recordsOf(batch, way))}</td>
          {way.outcome !== 'read' && <td className="num">{count(batch.read)}</td>}
          <td>
            <Moment at={batch.done_at} />
          </td>
          <td>
            <FirstRecord name={name} batch={batch} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** Leads to the trace of the first record that the batch has read. */
function FirstRecord({ name, batch }: { name: string; batch: LedgerBatch }) {
  const first = batch.ranges.find(({ start, end }) => end > start)
  if (!first) return null
  const place = written({ topic: first.topic, partition: first.partition, offset: first.start })
  if (typeof questionOf('at', place) === 'string') return place
  return (
    <Link to="/pipelines/$name/trace" params={{ name }} search={{ at: place }} className={classes.record}>
      Trace {place}
    </Link>
  )
}

function Next({ name, way }: { name: string; way: Way }) {
  const dead = way.outcome === 'dead_lettered' || way.outcome === 'unrouted'
  if (!dead || way.component === '') return null
  return (
    <Link to="/pipelines/$name/dead-letters" params={{ name }} search={{ component: way.component }}>
      Dead letters of this component
    </Link>
  )
}
