import type { LogChunk } from '@/api/types'

export interface LogLine {
  /** Grows by one a line, so that a line keeps its identity while older ones are dropped. */
  number: number
  text: string
  /** What the line states, or the line that it belongs to. */
  level: LogLevel | null
}

export interface LogState {
  lines: LogLine[]
  /** The last line as long as its end has not been read. */
  rest: string
  size: number
  loaded: boolean
  dropped: boolean
  /** Why there is no log yet, in the server's words. */
  missing: string | null
  error: Error | null
}

export const EMPTY_LOG: LogState = {
  lines: [],
  rest: '',
  size: 0,
  loaded: false,
  dropped: false,
  missing: null,
  error: null,
}

/** More lines than this are not kept on the page; the download has them all. */
export const MAX_LINES = 3_000

export function appendText(state: LogState, chunk: LogChunk): LogState {
  const parts = (state.rest + chunk.text).split('\n')
  const rest = parts.pop() ?? ''
  const first = (state.lines.at(-1)?.number ?? 0) + 1
  let level = state.lines.at(-1)?.level ?? null
  const added = parts.map((text, index) => {
    level = statedLevel(text) ?? level
    return { number: first + index, text, level }
  })
  const all = [...state.lines, ...added]
  return {
    lines: all.slice(-MAX_LINES),
    rest,
    size: chunk.size,
    loaded: true,
    dropped: state.dropped || all.length > MAX_LINES,
    missing: null,
    error: null,
  }
}

export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** What a line of Headgate's form states: time, level, component, run. Others belong to the line before them. */
function statedLevel(line: string): LogLevel | null {
  const match = /^\d{4}-\d\d-\d\dT[\d:.]+Z +([A-Z]+) /.exec(line)
  return LOG_LEVELS.find((level) => level === match?.[1]) ?? null
}

/** Whether a line is of a level or a more important one; of a line without any, nobody knows. */
export function isAtLeast(line: LogLine, level: LogLevel | null): boolean {
  return level === null || line.level === null || LOG_LEVELS.indexOf(line.level) >= LOG_LEVELS.indexOf(level)
}

export type Level = 'error' | 'warn' | 'plain'

/** The colour of a line. */
export function levelOf(line: string): Level {
  if (/\b(ERROR|FATAL|CRITICAL|Traceback)\b/.test(line)) return 'error'
  return /\bWARN(ING)?\b/.test(line) ? 'warn' : 'plain'
}
