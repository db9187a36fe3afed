import { useEffect, useReducer, useRef, useState } from 'react'
import { Problem } from '@/api/problem'
import { fetchLog } from '@/api/runs'
import type { LogChunk } from '@/api/types'
import { appendText, EMPTY_LOG, type LogState } from './buffer'
import type { LogWanted } from './search'

const TAIL_LINES = 500
const POLL_MS = 1_000
const RETRY_MS = 3_000
const ABSENT = ['log_not_found', 'log_line_not_found', 'log_on_other_host']

type Action = { chunk: LogChunk; fresh: boolean } | { error: Error }

function reduce(state: LogState, action: Action): LogState {
  if ('error' in action) return failed(state, action.error)
  return appendText(action.fresh ? EMPTY_LOG : state, action.chunk)
}

/** A log that does not exist yet is no error: an agent with nothing to say writes nothing. */
function failed(state: LogState, error: Error): LogState {
  const absent = error instanceof Problem && ABSENT.includes(error.code)
  return absent ? { ...EMPTY_LOG, loaded: true, missing: reasonOf(error) } : { ...state, error }
}

const reasonOf = (problem: Problem) => [problem.message, problem.hint].filter(Boolean).join(' ')

/** The lines that are wanted of a run's log, and what is appended while it is followed. A component shows one choice for its whole life. */
export function useLog(
  run: number,
  wanted: LogWanted,
  follow: boolean,
): { log: LogState; readAgain: () => void } {
  const [state, dispatch] = useReducer(reduce, EMPTY_LOG)
  const offset = useRef<number | null>(null)
  const first = useRef(wanted)
  const [attempt, setAttempt] = useState(0)

  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      const pause = await readOnce(run, first.current, offset, abort.signal, dispatch)
      if (follow && !abort.signal.aborted) timer = setTimeout(read, pause)
    }
    if (follow || offset.current === null) void read()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [run, follow, attempt])

  return { log: state, readAgain: () => setAttempt(attempt + 1) }
}

/** Reads the next piece, or the tail when there is none yet or the file has been rotated; returns the pause before the next. */
async function readOnce(
  run: number,
  wanted: LogWanted,
  offset: { current: number | null },
  signal: AbortSignal,
  dispatch: (action: Action) => void,
): Promise<number> {
  try {
    const from = offset.current
    const place = from === null ? { tail: TAIL_LINES } : { offset: from }
    const chunk = await fetchLog(run, { ...place, ...wanted }, signal)
    if (signal.aborted) return POLL_MS
    offset.current = chunk.offset
    dispatch({ chunk, fresh: from === null })
    return POLL_MS
  } catch (error) {
    if (!signal.aborted) dispatch({ error: error as Error })
    return RETRY_MS
  }
}
