import type { LogChunk } from '@/api/types'

export interface LogLine {
  /** Grows by one a line, so that a line keeps its identity while older ones are dropped. */
  number: number
  text: string
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
  const all = [...state.lines, ...parts.map((text, index) => ({ number: first + index, text }))]
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

export type Level = 'error' | 'warn' | 'plain'

export function levelOf(line: string): Level {
  if (/\b(ERROR|FATAL|CRITICAL|Traceback)\b/.test(line)) return 'error'
  return /\bWARN(ING)?\b/.test(line) ? 'warn' : 'plain'
}
