/** Numbers, durations and times as a user reads them. A missing value is "–", never zero. */

export const NONE = '–'

const integer = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const oneDigit = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1, minimumFractionDigits: 1 })
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export function count(value: number | null | undefined): string {
  return value == null ? NONE : integer.format(value)
}

export function compactCount(value: number | null | undefined): string {
  return value == null ? NONE : compact.format(value)
}

/** Records a second; one digit below ten, so that a slow stream does not look stopped. */
export function rate(value: number | null | undefined): string {
  if (value == null) return NONE
  return value > 0 && value < 10 ? oneDigit.format(value) : integer.format(value)
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return NONE
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = Math.min(units.length - 1, value > 0 ? Math.floor(Math.log2(value) / 10) : 0)
  return `${oneDigit.format(value / 1024 ** step).replace('.0', '')} ${units[step]}`
}

const UNITS: [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
]

/** A duration in its two largest units: "2 h 4 min", "8.3 s", "120 ms". */
export function duration(milliseconds: number | null | undefined): string {
  if (milliseconds == null || Number.isNaN(milliseconds)) return NONE
  const ms = Math.max(0, milliseconds)
  if (ms < 1_000) return `${integer.format(ms)} ms`
  if (ms < 10_000) return `${oneDigit.format(ms / 1_000)} s`
  const seconds = Math.round(ms / 1_000)
  const first = UNITS.findIndex(([, size]) => seconds >= size)
  return UNITS.slice(first, first + 2)
    .reduce(takeUnit, { rest: seconds, parts: [] as string[] })
    .parts.join(' ')
}

function takeUnit(state: { rest: number; parts: string[] }, [name, size]: [string, number]) {
  const whole = Math.floor(state.rest / size)
  return {
    rest: state.rest - whole * size,
    parts: whole > 0 ? [...state.parts, `${whole} ${name}`] : state.parts,
  }
}

export function between(from: string | null | undefined, to: string | null | undefined): string {
  return from && to ? duration(Date.parse(to) - Date.parse(from)) : NONE
}

/** "just now", "42 s ago", "3 min ago": one unit, since it is read at a glance. */
export function ago(at: string | null | undefined, now: number): string {
  if (!at) return NONE
  const seconds = Math.floor((now - Date.parse(at)) / 1_000)
  if (seconds < 2) return 'just now'
  const unit = UNITS.find(([, size]) => seconds >= size)
  return unit ? `${Math.floor(seconds / unit[1])} ${unit[0]} ago` : 'just now'
}

/** How long the lag takes to read at the present rate, in words; null where that means nothing. */
export function catchUp(lag: number | null, perSecond: number | null): string | null {
  if (lag == null || lag === 0 || !perSecond) return null
  const ms = (lag / perSecond) * 1_000
  return ms < 1_000 ? '< 1 s' : duration(ms)
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** A share as "4.2 %". */
export function percent(share: number | null, digits = 1): string {
  return share === null ? NONE : `${(100 * share).toFixed(digits)} %`
}

/** "Host drain" of "host drain". */
export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}
