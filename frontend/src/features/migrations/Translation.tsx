import {
  IconAlertTriangle,
  IconClock,
  IconEqual,
  IconHandStop,
  IconTilde,
  type Icon,
} from '@tabler/icons-react'
import type { PartitionTranslation, SinkEnd } from '@/api/types'
import { Empty } from '@/components/ui/Feedback'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { count, NONE, plural } from '@/lib/format'
import { type Facts, factsOf } from './translations'

/** Where each partition resumes on the new cluster, and the evidence. */
export function Translation({ rows }: { rows: PartitionTranslation[] }) {
  return (
    <Table
      label="Positions of each partition on the new cluster"
      maxHeight={420}
      head={
        <>
          <th>Partition</th>
          <th className="num">Stopped at</th>
          <th className="num">Resumes at</th>
          <th>Method</th>
          <th className="num">Compared</th>
          <th className="num">Skipped</th>
          <th className="num">Reread</th>
        </>
      }
    >
      {rows.map((row) => {
        const facts = factsOf(row)
        return (
          <tr key={`${row.source} ${row.channel} ${row.old_topic} ${row.partition}`}>
            <th scope="row">
              {row.old_topic}/{row.partition}
              {row.topic !== row.old_topic && <div className="dim">new topic {row.topic}</div>}
              <div className="dim">
                <SourceToChannel source={row.source} channel={row.channel} />
              </div>
            </th>
            <td className="num">{count(row.stopped_at)}</td>
            <td className="num">{count(row.new)}</td>
            <td>
              <Verdict row={row} />
              <How row={row} facts={facts} />
            </td>
            <td className="num">{count(facts.compared)}</td>
            <td className="num">{row.new === null ? NONE : counted(row.skip)}</td>
            <td className="num">{row.new === null ? NONE : counted(row.replay)}</td>
          </tr>
        )
      })}
    </Table>
  )
}

const counted = (records: number | null) => (records === null ? 'unknown' : count(records))

interface Look {
  tone: Tone
  icon: Icon
  words: string
}

/** Whether the record behind the last one that was read is the next one, or what is known instead. */
function verdictOn({ new: at, code, behind, exact, skip }: PartitionTranslation): Look {
  if (code) return { tone: 'bad', icon: IconHandStop, words: code }
  if (at === null)
    return { tone: 'busy', icon: IconClock, words: `${plural(behind, 'record')} not mirrored yet` }
  if (exact) return { tone: 'ok', icon: IconEqual, words: 'exact' }
  if (skip === null) return { tone: 'warn', icon: IconAlertTriangle, words: 'not verified' }
  return { tone: 'held', icon: IconTilde, words: 'counted' }
}

function Verdict({ row }: { row: PartitionTranslation }) {
  const { tone, icon, words } = verdictOn(row)
  return (
    <ToneBadge tone={tone} icon={icon} plain>
      {words}
    </ToneBadge>
  )
}

const WAYS: Record<PartitionTranslation['by'], string> = {
  mapping: "the mirror's offset syncs",
  timestamp: 'timestamp of the last record',
  given: 'given',
  same_log: 'same log, another address',
  cut: 'positions proven equal by the cutover',
}

function How({ row, facts }: { row: PartitionTranslation; facts: Facts }) {
  const { pair, at, timesOf, expected, lastRead, proof } = facts
  return (
    <>
      <div>{WAYS[row.by]}</div>
      <div className="dim">
        {pair && (
          <div>
            last pair {count(pair[0])} → {count(pair[1])}
          </div>
        )}
        {at && <TimeOf at={at} timesOf={timesOf} />}
        {lastRead !== null && <div>last record read {count(lastRead)}</div>}
        {!pair && expected !== null && <div>expected by content {count(expected)}</div>}
        {proof === 'pairs' && <div>by pairs only</div>}
        {proof !== null && !KNOWN.has(proof) && <div>{proof}</div>}
        {row.reason}
      </div>
    </>
  )
}

/** Proofs that the other columns show. */
const KNOWN = new Set(['records', 'pairs', ''])

function TimeOf({ at, timesOf }: { at: string; timesOf: string | null }) {
  return (
    <div>
      <Moment at={at} />
      {timesOf && `, a time of the ${timesOf}`}
    </div>
  )
}

/** The end offsets of the topics of a sink on the new cluster, before its first record is written. */
export function SinkEnds({ ends }: { ends: SinkEnd[] }) {
  if (ends.length === 0) return <Empty title="No topics on the new cluster yet" />
  return (
    <Table
      label="End offsets of the sink's topics on the new cluster"
      maxHeight={320}
      head={
        <>
          <th>Partition</th>
          <th>Sink</th>
          <th className="num">Start offset</th>
          <th className="num">End offset</th>
          <th className="num">Records</th>
        </>
      }
    >
      {ends.map(({ sink, topic, partition, start, end }) => (
        <tr key={`${sink} ${topic} ${partition}`}>
          <th scope="row">
            {topic}/{partition}
          </th>
          <td>{sink}</td>
          <td className="num">{count(start)}</td>
          <td className="num">{count(end)}</td>
          <td className="num">{end === start ? 'none' : `up to ${count(end - start)}`}</td>
        </tr>
      ))}
    </Table>
  )
}
