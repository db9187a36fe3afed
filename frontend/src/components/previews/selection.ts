import type { PreviewSelection } from '@/api/types'

/** What the form says, as it was typed. */
export interface Choice {
  by: 'last' | 'since' | 'range'
  last: number
  since: string
  range: string
  /** Percent. */
  sample: number
}

export const FIRST: Choice = { by: 'last', last: 1000, since: '1h', range: '', sample: 100 }

const NONE = { last: null, since: null, ranges: [] }
const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400 }
const RANGE = /^(\S+)\/(\d+):(\d+)-(\d+)$/

/** The selection as the API takes it, or what is wrong with it. */
export function selectionOf(choice: Choice): PreviewSelection | string {
  const sample = choice.sample / 100
  if (!(sample > 0 && sample <= 1)) return 'Write a share above 0 and up to 100 %.'
  if (choice.by === 'last') {
    const fits = Number.isInteger(choice.last) && choice.last >= 1 && choice.last <= 10_000
    return fits ? { ...NONE, last: choice.last, sample } : 'Write a number of records from 1 to 10000.'
  }
  if (choice.by === 'since') {
    const seconds = secondsOf(choice.since)
    return seconds ? { ...NONE, since: seconds, sample } : 'Write a duration such as 15m or 1h.'
  }
  const ranges = choice.range
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(rangeOf)
  if (ranges.length === 0 || ranges.includes(null)) return 'Write TOPIC/PARTITION:START-END.'
  return { ...NONE, ranges: ranges.filter((range) => range !== null), sample }
}

function secondsOf(text: string): number | null {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s?([smhd])$/.exec(text.trim()) ?? []
  const seconds = number && unit ? Number(number) * (UNITS[unit] ?? 0) : 0
  return seconds > 0 ? seconds : null
}

function rangeOf(text: string) {
  const [, topic, partition, start, end] = RANGE.exec(text) ?? []
  if (!topic || Number(end) <= Number(start)) return null
  return { topic, partition: Number(partition), start: Number(start), end: Number(end) }
}
