import type { Difference, DifferenceKind, DifferenceSide, TestResult } from '@/api/types'

/** How events differ, as people say it. */
export const KINDS: Record<DifferenceKind, string> = {
  newly_filtered: 'Newly filtered',
  no_longer_filtered: 'No longer filtered',
  newly_dead: 'Newly dead',
  no_longer_dead: 'No longer dead',
  newly_unrouted: 'Newly unrouted',
  no_longer_unrouted: 'No longer unrouted',
  routed_elsewhere: 'Routed elsewhere',
  added: 'Added',
  gone: 'Gone',
  other_reason: 'Other reason',
  key: 'Key',
  headers: 'Headers',
  body: 'Body',
}

const RESULTS: Record<DifferenceSide['result'], string> = {
  delivered: 'Delivered',
  filtered: 'Filtered',
  dead_lettered: 'Dead letter',
  unrouted: 'Unrouted',
}

export const resultWords = (result: DifferenceSide['result']) => RESULTS[result]

/** What becomes of an event, and by what. */
export function sideWords(side: DifferenceSide | null): string {
  if (side === null) return 'No event'
  const where = side.component || side.channels.join(', ')
  return where ? `${RESULTS[side.result]} (${where})` : RESULTS[side.result]
}

export const hasPassed = (test: TestResult) => (test.failures?.length ?? 0) === 0

export const failedOf = (tests: TestResult[]) => tests.filter((test) => !hasPassed(test)).length

/** Parts of an event by name. */
export function partNames({
  headers,
  key,
  body,
}: {
  headers?: string[]
  key?: boolean
  body?: boolean
}): string[] {
  return [
    ...(headers ?? []).map((name) => `header ${name}`),
    ...(key ? ['key'] : []),
    ...(body ? ['body'] : []),
  ]
}

/** Where in the log the event comes from. */
export function placeOf(found: Difference): string {
  const copy = found.copy_number ? `+${found.copy_number}` : ''
  return `${found.topic}/${found.partition}:${found.offset}${copy}`
}
