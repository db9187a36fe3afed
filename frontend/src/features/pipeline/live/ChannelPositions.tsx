import type { Phase, QueryStatus } from '@/api/types'
import { GuaranteeBadge } from '@/components/definitions/Guarantees'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { count, duration, plural, rate } from '@/lib/format'
import { useNow } from '@/lib/clock'
import { SinkGroup } from './SinkGroup'
import classes from './live.module.css'

/** Where every channel stands in its source, partition by partition. */
export function ChannelPositions({ queries, phase }: { queries: QueryStatus[]; phase: Phase }) {
  return (
    <Panel title="Positions" note="the next offset of each channel" flush>
      {queries.length === 0 && (
        <Empty title="No channel is reading">
          {phase === 'STOPPED'
            ? 'The Positions tab shows where the next start resumes.'
            : 'Positions appear with the first batch.'}
        </Empty>
      )}
      {queries.map((query) => (
        <Channel key={`${query.source}.${query.channel}`} query={query} />
      ))}
    </Panel>
  )
}

function Channel({ query }: { query: QueryStatus }) {
  const title = `${query.source} to ${query.channel}`
  return (
    <section aria-label={title}>
      <h3 className={classes.channel}>
        {query.source} <span aria-hidden>→</span>
        <span className="visually-hidden">to</span> {query.channel}
        <span className={classes.facts}>
          {rate(query.records_per_second)} records/s · {count(query.delivered)} delivered
          {query.in_flight && ` · batch ${count(query.batch)} in flight`} · last batch{' '}
          <Ago at={query.last_batch_at} />
        </span>
        {query.guarantee && <GuaranteeBadge guarantee={query.guarantee} />}
      </h3>
      {query.group && <SinkGroup group={query.group} />}
      {query.holding && <Holding query={query} />}
      {query.checking && (
        <p>
          Checking {count(query.checking.looked_at)} of {plural(query.checking.records, 'record')} in{' '}
          {query.checking.sink}: what it has of the unfinished batch is not delivered again.
        </p>
      )}
      <Table
        label={`Positions of ${title}`}
        maxHeight={360}
        head={
          <>
            <th>Topic</th>
            <th className="num">Partition</th>
            <th className="num">Next offset</th>
            <th className="num">End</th>
            <th className="num">Lag</th>
          </>
        }
      >
        {query.positions.map((position) => (
          <tr key={`${position.topic} ${position.partition}`}>
            <td>{position.topic}</td>
            <td className="num">{position.partition}</td>
            <td className="num">{count(position.next_offset)}</td>
            <td className="num">{count(position.end_offset)}</td>
            <td className="num">{count(position.lag)}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Holding({ query: { holding } }: { query: QueryStatus }) {
  const now = useNow()
  if (!holding) return null
  const since = holding.since ? `, for ${duration(now - Date.parse(holding.since))}` : ''
  return (
    <p className={classes.holding}>
      Delayed by {holding.component}, {plural(holding.attempts, 'attempt')}
      {since}. {holding.cause}
    </p>
  )
}
