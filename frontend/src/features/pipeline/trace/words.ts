import type { ChannelTrace } from '@/api/types'

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

/** What became of the record in a channel, and what that rests on. */
export function outcomeWords({ outcome, evidence, component }: ChannelTrace): string {
  const by = component ? ` by ${component}` : ''
  const why = EVIDENCE[evidence]
  return `${OUTCOMES[outcome]}${by}${why ? ` (${why})` : ''}`
}
