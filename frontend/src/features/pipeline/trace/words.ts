import type { ChannelTrace, EvaluatedRecord } from '@/api/types'
import { partNames } from '@/components/previews/words'
import { NONE } from '@/lib/format'

const OUTCOMES: Record<ChannelTrace['outcome'], string> = {
  delivered: 'Delivered',
  filtered: 'Filtered',
  dead_lettered: 'Dead letter',
  unrouted: 'Unrouted',
  routed_elsewhere: 'Routed elsewhere',
  dropped_optional: 'Dropped by an optional channel',
  in_flight: 'In flight',
  not_read: 'Not read yet',
  skipped: 'Skipped',
  no_record: 'No record at this offset',
  unknown: 'Unknown',
}

const EVIDENCE: Record<ChannelTrace['evidence'], string> = {
  ledger: 'proved by the ledger',
  sink: 'found in the sink',
  evaluation: 'evaluated again, not recorded',
  source: 'as the source is now',
  none: '',
}

type EvaluatedEvent = NonNullable<EvaluatedRecord['events']>[number]
type Step = NonNullable<EvaluatedEvent['steps']>[number]

const EFFECTS: Record<Step['effect'], string> = {
  changed: 'Changed',
  unchanged: 'Unchanged',
  filtered: 'Filtered',
  failed: 'Failed',
}

/** What a component did to the event, and to which parts of it. */
export const effectWords = ({ effect }: Step) => EFFECTS[effect]

export function changedParts({ cause, ...parts }: Step): string {
  return cause || partNames(parts).join(', ') || NONE
}

/** What becomes of the event in each channel. */
export const verdictWords = ({ verdicts }: EvaluatedEvent) =>
  Object.entries(verdicts)
    .map(([channel, verdict]) => `${channel}: ${OUTCOMES[verdict as ChannelTrace['outcome']] ?? verdict}`)
    .join(', ')

/** What became of the record in a channel, and what that rests on. */
export function outcomeWords({ outcome, evidence, component }: ChannelTrace): string {
  const by = component ? ` by ${component}` : ''
  const why = EVIDENCE[evidence]
  return `${OUTCOMES[outcome]}${by}${why ? ` (${why})` : ''}`
}
