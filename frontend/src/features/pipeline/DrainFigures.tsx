import type { PipelineStatus } from '@/api/types'
import { Ago } from '@/components/ui/Time'
import { staleAfter } from '@/domain/freshness'
import { useNow } from '@/lib/clock'
import { count, duration, NONE, plural, rate } from '@/lib/format'
import classes from './operation.module.css'

export type Drain = NonNullable<PipelineStatus['drain']>

/** What a pause or a stop waits for, how long still, and what a forced stop means. */
export function DrainFigures({ drain }: { drain: Drain }) {
  const now = useNow()
  const { records, batches, held_by: heldBy, as_of: asOf } = drain
  const stale = drain.stale || asOf === null || now - Date.parse(asOf) > staleAfter(drain.rate)
  return (
    <>
      <dl className={classes.drain} aria-live="off">
        <Fact name="Records remaining">
          {records === null ? 'unknown until the batch ends' : upTo(records)}
        </Fact>
        <Fact name="Batches">{plural(batches, 'batch', 'batches')}</Fact>
        <Fact name="Rate">{drain.rate === null ? NONE : `${rate(drain.rate)} records/s`}</Fact>
        <Fact name="Time left (estimate)">{stale ? 'unknown' : timeLeft(drain)}</Fact>
        <Fact name="Drain times out in">{untilDeadline(drain, now)}</Fact>
        <Fact name="Delayed by">{heldBy.join(', ') || 'nothing'}</Fact>
      </dl>
      <p className={classes.message}>If you force the stop: {impactOf(drain)}.</p>
      {stale && (
        <p className={classes.message}>
          These figures are old: the agent last reported {asOf ? <Ago at={asOf} /> : 'nothing'}.
        </p>
      )}
    </>
  )
}

const upTo = (records: number) => (records === 0 ? '0 known' : `up to ${count(records)}`)

const timeLeft = ({ seconds_left: left }: Drain) =>
  left === null ? 'unknown' : `about ${duration(left * 1_000)}`

function untilDeadline({ deadline }: Drain, now: number): string {
  const left = Math.ceil((Date.parse(deadline) - now) / 1_000)
  return left > 0 ? duration(left * 1_000) : 'past its deadline'
}

/** What a forced stop means for the records that are waited for. */
export function impactOf({ records, possible_duplicates: twice }: Drain): string {
  const reread = records === null ? 'in-flight records are reread' : `${upTo(records)} records are reread`
  return `${reread}; ${twice > 0 ? `at most ${count(twice)} possible duplicates` : 'no duplicates'}`
}

function Fact({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
