import { Drawer, SegmentedControl, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { PeekedRecord, RecordOrigin } from '@/api/types'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { Moment } from '@/components/ui/Time'
import { bytes } from '@/lib/format'
import { firstView, hexOf, jsonOf, placeOf, type BodyView, type ShownEvent } from './body'
import classes from './records.module.css'

interface DrawerProps {
  name: string
  record: PeekedRecord
  onClose: () => void
}

/** One record: where it is, what it was made of, its key, headers and body. */
export function RecordDrawer({ name, record, onClose }: DrawerProps) {
  const event = record.event as unknown as ShownEvent
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title={placeOf(record)}>
      <Stack gap="md">
        <dl className={classes.facts}>
          {record.timestamp && (
            <>
              <dt>{record.by_broker ? 'Appended' : 'Created'}</dt>
              <dd>
                <Moment at={new Date(record.timestamp).toISOString()} />
              </dd>
            </>
          )}
          <dt>Key</dt>
          <dd>{event.key ?? 'none'}</dd>
          {record.component && (
            <>
              <dt>Component</dt>
              <dd>{record.component}</dd>
            </>
          )}
          {record.outcome && (
            <>
              <dt>Outcome</dt>
              <dd>{record.outcome.replace('_', '-')}</dd>
            </>
          )}
          {record.cause && (
            <>
              <dt>Cause</dt>
              <dd>{record.cause}</dd>
            </>
          )}
          {record.origin && <Origin origin={record.origin} />}
        </dl>
        <TraceLink name={name} record={record} />
        {event.headers.length > 0 && (
          <dl className={classes.facts} aria-label="Headers">
            {event.headers.map(([header, value]) => (
              <div key={`${header}=${value}`} className={classes.header}>
                <dt>{header}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
        <Body event={event} tombstone={record.tombstone ?? false} />
      </Stack>
    </Drawer>
  )
}

function Origin({ origin }: { origin: RecordOrigin }) {
  const { place, run, first_batch, last_batch, delivered_at } = origin
  return (
    <>
      <dt>Made of</dt>
      <dd>
        {`${place.topic}/${place.partition}:${place.offset}`} by {origin.pipeline}, {origin.source} →{' '}
        {origin.channel}
      </dd>
      <dt>Batch</dt>
      <dd>
        {run ? (
          <>
            run {run}, batch {first_batch === last_batch ? first_batch : `${first_batch} to ${last_batch}`},
            delivered <Moment at={delivered_at} />
          </>
        ) : (
          'not in the ledger of this pipeline'
        )}
      </dd>
    </>
  )
}

/** Leads to the trace of the record: of a sink's record and of a dead letter, by what it was made of. */
function TraceLink({
  name,
  record: { topic, partition, offset, origin },
}: {
  name: string
  record: PeekedRecord
}) {
  if (origin && origin.pipeline !== name) return null
  const place = origin?.place ?? { topic, partition, offset }
  const at = `${place.topic}/${place.partition}:${place.offset}`
  return (
    <Link to="/pipelines/$name/trace" params={{ name }} search={{ at }}>
      Trace {at}
    </Link>
  )
}

const VIEWS: { value: BodyView; label: string }[] = [
  { value: 'text', label: 'Text' },
  { value: 'json', label: 'JSON' },
  { value: 'hex', label: 'Hex' },
]

function Body({ event, tombstone }: { event: ShownEvent; tombstone: boolean }) {
  const [view, setView] = useState<BodyView>(firstView(event))
  const json = jsonOf(event)
  if (tombstone) return <Text size="sm">The record has no value: a tombstone, which deletes its key.</Text>
  if (event.note === 'withheld')
    return <Text size="sm">The body is not shown: its masked fields cannot be found in it.</Text>
  const code = { text: event.body ?? event.body_base64 ?? '', json: json ?? '', hex: hexOf(event) }[view]
  return (
    <div className={classes.body}>
      <SegmentedControl
        aria-label="Body as"
        size="xs"
        data={VIEWS.map((each) => ({ ...each, disabled: each.value === 'json' && json === null }))}
        value={view}
        onChange={(value) => setView(value as BodyView)}
      />
      <Text size="sm" c="dimmed">
        {event.note === 'truncated' ? `The beginning of ${bytes(event.bytes)}` : bytes(event.bytes)}
        {view === 'text' && event.body_base64 !== undefined && ', in base64'}
      </Text>
      {code === '' ? (
        <Text size="sm">The body is empty.</Text>
      ) : (
        <CodeBlock code={code} label="Body" maxHeight={420} wrapped={view !== 'hex'} />
      )}
    </div>
  )
}
