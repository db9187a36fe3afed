import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type {
  ChannelTrace,
  EvaluatedRecord,
  Onward,
  SourceSearch,
  Trace,
  TraceLead,
  TraceResult,
} from '@/api/types'
import { ShownEvent } from '@/components/previews/ShownEvent'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { Empty } from '@/components/ui/Feedback'
import { Copy } from '@/components/ui/CodeBlock'
import { count, plural } from '@/lib/format'
import { written } from './question'
import { changedParts, effectWords, outcomeWords, verdictWords } from './words'
import classes from './trace.module.css'

interface TraceOutcomeProps {
  name: string
  trace: Trace
  result: TraceResult
  onFollow: (place: string) => void
}

/** A record from its source to its sinks: what the ledger proves, what was evaluated again, what was found. */
export function TraceOutcome({ name, trace, result, onFollow }: TraceOutcomeProps) {
  return (
    <>
      {result.search && <Searched search={result.search} onFollow={onFollow} />}
      {result.place && (
        <>
          <p role="status">
            {written(result.place)}: {inChannels(result.channels)}
          </p>
          {result.came_from && (
            <p>
              It was made of <Led lead={result.came_from} onFollow={onFollow} />.
            </p>
          )}
          <Timeline name={name} label="Timeline" channels={result.channels} evaluated={result.evaluated}>
            {result.onward?.map((each) => (
              <Continuation key={written(each.lead.place)} name={name} found={each} onFollow={onFollow} />
            ))}
          </Timeline>
        </>
      )}
      <NotKnown found={result.unknown} />
      {!trace.shows_records && <p className="dim">Your role or token does not show what records hold.</p>}
    </>
  )
}

const inChannel = (found: ChannelTrace) => `${found.source}.${found.channel} ${outcomeWords(found)}`

const inChannels = (channels: ChannelTrace[]) =>
  channels.map(inChannel).join('; ') || 'no channel has read this partition'

interface TimelineProps {
  name: string
  label: string
  channels: ChannelTrace[]
  evaluated?: EvaluatedRecord[]
  children?: ReactNode
}

/** What the ledger has of a record, what was evaluated again, and what was found in sinks. */
function Timeline({ name, label, channels, evaluated, children }: TimelineProps) {
  return (
    <ol className={classes.timeline} aria-label={label}>
      {channels.map((each) => (
        <Read key={`${each.source} ${each.channel}`} name={name} found={each} />
      ))}
      {evaluated?.map((each) => (
        <Evaluation key={`${each.revision} ${each.source}`} found={each} />
      ))}
      {channels.map((each) => (
        <Sinks key={`${each.source} ${each.channel}`} found={each} />
      ))}
      {children}
    </ol>
  )
}

function NotKnown({ found }: { found: TraceResult['unknown'] }) {
  if (found.length === 0) return null
  return (
    <ul aria-label="Not known">
      {found.map(({ about, code, reason }) => (
        <li key={`${about} ${code} ${reason}`}>
          Not known{about ? ` (${about})` : ''}: {reason}
        </li>
      ))}
    </ul>
  )
}

function Led({ lead, onFollow }: { lead: TraceLead; onFollow: (place: string) => void }) {
  const place = written(lead.place)
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => onFollow(place)}>
        Trace {place}
      </Button>{' '}
      {lead.kind === 'retry' ? `by the retry of the dead letter ${lead.of}` : `(channel ${lead.of})`}
    </>
  )
}

/** Where the record continues: in the store of a channel, or as the new record of a dead letter. */
function Continuation({
  name,
  found,
  onFollow,
}: {
  name: string
  found: Onward
  onFollow: (place: string) => void
}) {
  const channels = found.channels ?? []
  return (
    <li>
      <strong>
        It continues as <Led lead={found.lead} onFollow={onFollow} />
      </strong>
      <div>{inChannels(channels)}</div>
      <Timeline name={name} label={`Timeline of ${written(found.lead.place)}`} channels={channels} />
      <NotKnown found={found.unknown ?? []} />
    </li>
  )
}

function Searched({ search, onFollow }: { search: SourceSearch; onFollow: (place: string) => void }) {
  const several = search.matched !== 1 || search.more
  return (
    <>
      <p>
        {plural(search.searched, 'offset')} of {search.source} searched, {count(search.matched)}
        {search.more ? ' or more' : ''} {search.matched === 1 && !search.more ? 'matches' : 'match'}.{' '}
        {search.notes?.join(' ')}
      </p>
      {search.matched === 0 && (
        <Empty title="No record matches">
          Search by place, by another key or text, or from an earlier time.
        </Empty>
      )}
      {several && (search.candidates?.length ?? 0) > 0 && (
        <Table label="Records that match" head={<CandidateHead />}>
          {search.candidates?.map(({ place, timestamp, size }) => (
            <tr key={written(place)}>
              <td>{written(place)}</td>
              <td>{timestamp ? <Moment at={new Date(timestamp).toISOString()} /> : '-'}</td>
              <td className="num">{count(size)}</td>
              <td>
                <Button size="compact-sm" variant="default" onClick={() => onFollow(written(place))}>
                  Trace {written(place)}
                </Button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

function CandidateHead() {
  return (
    <>
      <th>Record</th>
      <th>Written</th>
      <th className="num">Bytes</th>
      <th aria-label="Action" />
    </>
  )
}

function Read({ name, found }: { name: string; found: ChannelTrace }) {
  return (
    <li>
      <strong>
        Ledger of {found.source}.{found.channel}
      </strong>
      {found.ledger.rows?.map((row) => (
        <div key={row.id}>
          Batch {row.merged ? `${row.first_batch} to ${row.last_batch}` : row.first_batch} of{' '}
          <Link
            to="/pipelines/$name/ledger"
            params={{ name }}
            search={{ run: row.run, channel: row.channel }}
          >
            run {row.run}
          </Link>
          , revision {row.revision}, {row.state} <Moment at={row.done_at} />
        </div>
      ))}
      {(found.ledger.rows?.length ?? 0) === 0 && <div className="dim">No batch has the record.</div>}
      {found.ledger.letters?.map((letter) => (
        <div key={letter.id}>
          <Link to="/pipelines/$name/dead-letters" params={{ name }} search={{ component: letter.component }}>
            Dead letter
          </Link>{' '}
          of {letter.component}: {letter.cause} ({letter.state})
        </div>
      ))}
    </li>
  )
}

function Evaluation({ found }: { found: EvaluatedRecord }) {
  if ((found.events?.length ?? 0) === 0) return null
  return (
    <li>
      <strong>Evaluated again with revision {found.revision}</strong>
      <ShownEvent event={found.read} label="Record as it was read" />
      {found.events?.map((event) => (
        <div key={event.copy_number} className={classes.event}>
          <Table label={`Components, event ${event.copy_number + 1}`} head={<StepHead />}>
            {event.steps?.map((step) => (
              <tr key={step.component}>
                <td>{step.component}</td>
                <td>{effectWords(step)}</td>
                <td>{changedParts(step)}</td>
                <td>{step.type}</td>
              </tr>
            ))}
          </Table>
          <div>{verdictWords(event)}</div>
          <ShownEvent event={event.event} label="Event behind the interceptors" />
        </div>
      ))}
    </li>
  )
}

function StepHead() {
  return (
    <>
      <th>Component</th>
      <th>Effect</th>
      <th>What</th>
      <th>Type</th>
    </>
  )
}

function Sinks({ found }: { found: ChannelTrace }) {
  return found.searches?.map((search) => (
    <li key={`${search.row} ${search.sink}`}>
      <strong>Sink {search.sink}</strong>
      <div>
        {search.records?.length ? 'Found at ' : 'Not found'}
        {search.records?.map((place) => (
          <span key={written(place)} className={classes.place}>
            {written(place)} <Copy text={written(place)} label={`${written(place)} in sink ${search.sink}`} />
          </span>
        ))}
        ; {plural(search.searched, 'record')} searched by origin.
      </div>
    </li>
  ))
}
