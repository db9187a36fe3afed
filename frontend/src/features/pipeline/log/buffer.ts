import type { LogChunk } from '@/api/types'
import { crc32 } from '@/lib/crc32'

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
  /** Bytes that are kept, and how many of the last of them were searched. */
  total: number
  searched: number
  components: string[]
  loaded: boolean
  dropped: boolean
  /** Why there is no log, or no such line, in the server's words. */
  missing: string | null
  error: Error | null
}

export const EMPTY_LOG: LogState = {
  lines: [],
  rest: '',
  size: 0,
  total: 0,
  searched: 0,
  components: [],
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
    total: chunk.total,
    searched: state.loaded ? state.searched : chunk.searched,
    components: [...new Set([...state.components, ...chunk.components])].sort(),
    loaded: true,
    dropped: state.dropped || all.length > MAX_LINES,
    missing: null,
    error: null,
  }
}

export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const HEAD = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) +(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +\S/

/** What finds a line of Headgate's form again as long as its file is kept; null of a line that belongs to the one before. */
export function addressOf(line: string): string | null {
  const stamp = HEAD.exec(line)?.[1]
  return stamp ? `${stamp}~${crc32(line.trimEnd()).toString(16).padStart(8, '0')}` : null
}

/** A line, the one that it belongs to included, has this address. */
export function headOf(lines: LogLine[], index: number): LogLine | null {
  for (let at = index; at >= 0; at -= 1) {
    const line = lines[at]
    if (line && HEAD.test(line.text)) return line
  }
  return null
}

export interface Hit {
  line: number
  start: number
}

const MAX_HITS = 2_000

/** Where a text occurs in the lines, in any case of letters. */
export function hitsOf(lines: LogLine[], find: string): Hit[] {
  const wanted = find.toLowerCase()
  const found: Hit[] = []
  if (!wanted) return found
  for (const { number, text } of lines) {
    const searched = text.toLowerCase()
    for (
      let start = searched.indexOf(wanted);
      start >= 0;
      start = searched.indexOf(wanted, start + wanted.length)
    ) {
      if (found.push({ line: number, start }) === MAX_HITS) return found
    }
  }
  return found
}

export type Level = 'error' | 'warn' | 'plain'

/** The colour of a line. */
export function levelOf(line: string): Level {
  if (/\b(ERROR|FATAL|CRITICAL|Traceback)\b/.test(line)) return 'error'
  return /\bWARN(ING)?\b/.test(line) ? 'warn' : 'plain'
}
