/** The range of time that charts show: one of the presets that end now, or one with a beginning and an end. */

export const PRESETS = [
  { value: '15m', label: '15 min', seconds: 900 },
  { value: '1h', label: '1 h', seconds: 3_600 },
  { value: '6h', label: '6 h', seconds: 21_600 },
  { value: '24h', label: '24 h', seconds: 86_400 },
  { value: '7d', label: '7 d', seconds: 604_800 },
  { value: '30d', label: '30 d', seconds: 2_592_000 },
] as const

export type Preset = (typeof PRESETS)[number]['value']
const DEFAULT: Preset = '1h'
const SHORTEST_S = 60
const LONGEST_S = 90 * 86_400
const POLL_MS = 5_000
const LONGEST_POLL_MS = 300_000

/** What the address has of it. `from` and `to` come first; `last` is what a reset goes back to. */
export interface RangeSearch {
  last?: Preset
  from?: string
  to?: string
}

/** From when until when, in seconds since 1970. */
export interface Span {
  from: number
  to: number
}

/** What the API is asked for. */
export interface RangeQuery {
  since: string
  until?: string
}

const instant = (value: unknown) => {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

/** The range in an address; what cannot be one is left out. */
export function readRange(search: Record<string, unknown>): RangeSearch {
  const last = PRESETS.find(({ value }) => value === search.last)?.value
  const [from, to] = [instant(search.from), instant(search.to)]
  if (!from || !to || from >= to) return { last }
  return { last, from, to }
}

export const presetOf = ({ last }: RangeSearch): Preset => last ?? DEFAULT

export const isLive = ({ from, to }: RangeSearch) => !from || !to

export function queryOf(search: RangeSearch): RangeQuery {
  return isLive(search) ? { since: presetOf(search) } : { since: search.from!, until: search.to }
}

export function spanOf(search: RangeSearch, now: number): Span {
  if (!isLive(search)) return { from: Date.parse(search.from!) / 1_000, to: Date.parse(search.to!) / 1_000 }
  const seconds = PRESETS.find(({ value }) => value === presetOf(search))!.seconds
  return { from: now / 1_000 - seconds, to: now / 1_000 }
}

/** How often a range that ends now is read again: once for each of its points, but not all the time. */
export function pollOf(search: RangeSearch, step: number | undefined): number | false {
  return isLive(search) && Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, (step ?? 0) * 1_000))
}

/** The range in an address again: no longer and no shorter than the API answers, and not in the future. */
export function ranged(search: RangeSearch, span: Span, now: number): RangeSearch {
  const length = Math.min(LONGEST_S, Math.max(SHORTEST_S, span.to - span.from))
  const middle = (span.from + span.to) / 2
  const to = Math.min(Math.floor(now / 1_000), Math.round(middle + length / 2))
  const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
  return { last: search.last, from: iso(Math.round(to - length)), to: iso(to) }
}

/** A span that is longer (`factor` above 1) or shorter, and has the same share of it before `at`. */
export function zoomed({ from, to }: Span, factor: number, at = (from + to) / 2): Span {
  return { from: at - (at - from) * factor, to: at + (to - at) * factor }
}

/** A span that is moved by a share of its length. */
export function moved({ from, to }: Span, share: number): Span {
  const by = (to - from) * share
  return { from: from + by, to: to + by }
}
