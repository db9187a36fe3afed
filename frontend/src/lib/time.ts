import { NONE } from './format'
import type { TimeZone } from './preferences'

const formats = new Map<string, Intl.DateTimeFormat>()

const CLOCK: Intl.DateTimeFormatOptions = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
}
const DATE: Intl.DateTimeFormatOptions = { year: 'numeric', month: '2-digit', day: '2-digit' }

function formatter(name: 'clock' | 'full', zone: TimeZone): Intl.DateTimeFormat {
  const key = `${name}.${zone}`
  const known = formats.get(key)
  if (known) return known
  const options = name === 'clock' ? CLOCK : { ...DATE, ...CLOCK }
  const made = new Intl.DateTimeFormat('sv-SE', { ...options, timeZone: zone === 'utc' ? 'UTC' : undefined })
  formats.set(key, made)
  return made
}

/** "12:04:31" */
export function clockTime(at: string | number | null | undefined, zone: TimeZone): string {
  return at == null ? NONE : formatter('clock', zone).format(new Date(at))
}

/** "2026-11-21 12:04:31", with "UTC" behind it where it is. */
export function fullTime(at: string | number | null | undefined, zone: TimeZone): string {
  if (at == null) return NONE
  return formatter('full', zone).format(new Date(at)) + (zone === 'utc' ? ' UTC' : '')
}

/** The clock time when it was today, else date and time. */
export function shortTime(at: string | null | undefined, zone: TimeZone, now: number): string {
  if (!at) return NONE
  const full = formatter('full', zone)
  const sameDay = full.format(new Date(at)).slice(0, 10) === full.format(new Date(now)).slice(0, 10)
  return sameDay ? clockTime(at, zone) : full.format(new Date(at))
}

/** A time on an axis whose ticks are so many seconds apart: date at midnight and where they are days, else "12:04". */
export function axisTime(seconds: number, apart: number, zone: TimeZone): string {
  const [date = '', clock = ''] = formatter('full', zone)
    .format(new Date(seconds * 1_000))
    .split(' ')
  if (apart >= 86_400 || clock === '00:00:00') return date.slice(5)
  return apart < 60 ? clock : clock.slice(0, 5)
}

/** A moment as the browser's own field for date and time has it: "2026-11-21T12:04". */
export function minuteOf(at: string, zone: TimeZone): string {
  return formatter('full', zone).format(new Date(at)).slice(0, 16).replace(' ', 'T')
}

/** The moment that such a field names; undefined while it names none. */
export function instantOf(minute: string, zone: TimeZone): string | undefined {
  const at = new Date(zone === 'utc' ? `${minute}Z` : minute)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
