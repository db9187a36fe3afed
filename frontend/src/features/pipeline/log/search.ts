import { LOG_LEVELS, type LogLevel } from './buffer'

/** What the address of a log says: which run, which lines, and how they are shown. */
export interface LogSearch {
  run?: number
  find?: string
  /** Only lines that match, looked for by the server. */
  only?: boolean
  level?: LogLevel
  component?: string
  since?: string
  follow?: boolean
  wrap?: boolean
  /** The line that is linked to. */
  at?: string
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
const flag = (value: unknown) => (typeof value === 'boolean' ? value : undefined)

export const logSearch = (search: Record<string, unknown>): LogSearch => ({
  run: Number.isSafeInteger(search.run) ? (search.run as number) : undefined,
  find: search.find === undefined ? undefined : String(search.find) || undefined,
  only: flag(search.only),
  level: LOG_LEVELS.find((level) => level === search.level),
  component: textOf(search.component),
  since: textOf(search.since),
  follow: flag(search.follow),
  wrap: flag(search.wrap),
  at: textOf(search.at),
})

/** What the server is asked for: which lines. */
export function wantedOf({ find, only, level, component, since, at }: LogSearch): LogWanted {
  return at ? { at } : { level, component, since, find: only ? find : undefined }
}

export interface LogWanted {
  level?: LogLevel
  component?: string
  since?: string
  find?: string
  at?: string
}

export const SINCE = [
  { value: '5m', label: 'Last 5 minutes' },
  { value: '15m', label: 'Last 15 minutes' },
  { value: '1h', label: 'Last hour' },
  { value: '6h', label: 'Last 6 hours' },
  { value: '1d', label: 'Last day' },
]
