import { Button, Group } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { cancelPeek, peekQuery } from '@/api/peeks'
import { keys } from '@/api/keys'
import { ended } from '@/api/previews'
import type { Peek, PeekResult, PeekedPartition, PeekedRecord } from '@/api/types'
import { MadeByHost } from '@/components/previews/MadeByHost'
import { Empty, ErrorNote } from '@/components/ui/Feedback'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { bytes, count, plural } from '@/lib/format'
import { lineOf, placeOf, type ShownEvent } from './body'
import type { Typed } from './question'
import { RecordDrawer } from './RecordDrawer'
import classes from './records.module.css'

const HOLES: Record<PeekedPartition['holes'][number]['kind'], string> = {
  aborted: 'Records of an aborted transaction. The pipeline does not read them, either.',
  markers: 'Markers of transactions. They are no records.',
  compacted: 'Removed by compaction, or markers of transactions.',
  unknown: 'No record. The reason was not found in time.',
}

interface PeekedProps {
  name: string
  id: string
  onMove?: (change: Partial<Typed>) => void
}

/** Records that a host has read: waited for, cancelled, or shown. */
export function Peeked({ name, id, onMove }: PeekedProps) {
  const query = useQuery(peekQuery(name, id))
  const client = useQueryClient()
  const cancel = useMutation({
    mutationFn: () => cancelPeek(name, id),
    onSettled: () => client.invalidateQueries({ queryKey: keys.peek(name, id) }),
  })
  return (
    <>
      <MadeByHost query={query} running="Reading records">
        {(made) => made.result && <Records name={name} peek={made} result={made.result} onMove={onMove} />}
      </MadeByHost>
      {query.data && !ended(query.data.state) && (
        <Button variant="default" size="xs" loading={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </Button>
      )}
      {cancel.error && <ErrorNote error={cancel.error} />}
    </>
  )
}

interface RecordsProps {
  name: string
  peek: Peek
  result: PeekResult
  onMove?: (change: Partial<Typed>) => void
}

function Records({ name, peek, result, onMove }: RecordsProps) {
  const [shown, setShown] = useState<PeekedRecord | null>(null)
  return (
    <>
      <p role="status">{summary(result)}</p>
      {(result.notes ?? []).map((note) => (
        <p key={note} className="dim">
          {note}
        </p>
      ))}
      {result.records.length === 0 ? (
        <Nothing peek={peek} result={result} />
      ) : (
        <Table
          label="Records"
          maxHeight={480}
          head={
            <>
              <th>Record</th>
              <th>Written</th>
              <th>Key</th>
              <th className="num">Size</th>
              <th>Body</th>
            </>
          }
        >
          {result.records.map((each) => (
            <Row key={placeOf(each)} record={each} onShow={() => setShown(each)} />
          ))}
        </Table>
      )}
      {onMove && <Moves peek={peek} result={result} onMove={onMove} />}
      <Holes partitions={result.partitions} />
      {shown && <RecordDrawer name={name} record={shown} onClose={() => setShown(null)} />}
    </>
  )
}

function summary({ records, searched, topic, more }: PeekResult): string {
  const shown = records.length === 0 ? 'No record' : plural(records.length, 'record')
  return `${shown} shown, ${count(searched)} read of ${topic || 'the source'}.${more ? ' There are more.' : ''}`
}

function Nothing({ peek: { question }, result }: { peek: Peek; result: PeekResult }) {
  if (question.key ?? question.contains)
    return (
      <Empty title="No record matches">{result.more && 'There are older records that were not read.'}</Empty>
    )
  if (/\.(selector|interceptors\[\d+\])$/.test(question.of))
    return (
      <Empty title="It takes none of them out">None of the newest records of its source ends here.</Empty>
    )
  const empty = result.partitions.every(({ start, end }) => start === end)
  return (
    <Empty title={empty ? 'The topic is empty' : 'No record here'}>
      {empty
        ? 'Nothing has been written, or retention has deleted it.'
        : 'See below why these offsets have none.'}
    </Empty>
  )
}

function Row({ record, onShow }: { record: PeekedRecord; onShow: () => void }) {
  const event = record.event as unknown as ShownEvent
  return (
    <tr>
      <th scope="row">
        <button type="button" className={classes.place} onClick={onShow}>
          {placeOf(record)}
        </button>
        {record.cause && <div className="dim">{record.cause}</div>}
      </th>
      <td>{record.timestamp ? <Moment at={new Date(record.timestamp).toISOString()} /> : '–'}</td>
      <td className={classes.key}>{event.key ?? '–'}</td>
      <td className="num">{bytes(event.bytes)}</td>
      <td>
        <span className={classes.line}>{lineOf(event, record.tombstone ?? false)}</span>
      </td>
    </tr>
  )
}

/** Older and newer records of one partition. */
function Moves({
  peek: { question },
  result,
  onMove,
}: Pick<RecordsProps, 'peek' | 'result'> & Required<Pick<RecordsProps, 'onMove'>>) {
  const [part, ...others] = result.partitions.filter(({ shown }) => shown > 0)
  if (!part || others.length > 0 || !part.topic || question.key || question.contains) return null
  const at = (offset: number) =>
    onMove({ partition: String(part.partition), from: 'offset', start: String(offset) })
  return (
    <Group gap="xs">
      <Button
        variant="default"
        size="xs"
        disabled={part.since <= part.start}
        onClick={() => at(Math.max(part.start, part.since - (question.limit ?? 20)))}
      >
        Older
      </Button>
      <Button variant="default" size="xs" disabled={part.until >= part.end} onClick={() => at(part.until)}>
        Newer
      </Button>
    </Group>
  )
}

/** Every offset of what was read that has no record, and those that cannot be read yet. */
function Holes({ partitions }: { partitions: PeekedPartition[] }) {
  const lines = partitions.flatMap(linesOf)
  if (lines.length === 0) return null
  return (
    <section aria-label="Offsets without a record" className={classes.holes}>
      <h3>Offsets without a record</h3>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  )
}

function linesOf({ topic, partition, end, open = 0, holes = [], missing = 0 }: PeekedPartition): string[] {
  const place = `${topic}/${partition}`
  const listed = holes.reduce((sum, each) => sum + each.end - each.start, 0)
  return [
    ...holes.map((each) => `${place}: ${range(each.start, each.end)}. ${HOLES[each.kind]}`),
    ...(missing > listed ? [`${place}: ${count(missing - listed)} other offsets.`] : []),
    ...(open > 0 ? [`${place}: ${plural(open, 'offset')} from ${end} on belong to open transactions.`] : []),
  ]
}

const range = (start: number, end: number) => (end - start === 1 ? `${start}` : `${start} to ${end - 1}`)
