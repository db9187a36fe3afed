import type { Run } from '@/api/types'
import { count, duration } from '@/lib/format'

export type SpanKind = 'standby' | 'starting' | 'running' | 'stopping'

/** A part of a run's life, in milliseconds of the epoch. */
export interface Span {
  kind: SpanKind
  from: number
  to: number
}

const WORDS: Record<SpanKind, string> = {
  standby: 'standby',
  starting: 'starting',
  running: 'running',
  stopping: 'stopping',
}

/** The life of a run in its phases: one begins where the one before ends, and those that took no time are left out. */
export function spansOf(run: Run, now: number): Span[] {
  const end = at(run.ended_at) ?? now
  const begin = Math.min(end, at(run.start_requested_at) ?? at(run.started_at) ?? end)
  const stop = within(at(run.stop_requested_at) ?? end, begin, end)
  const waited = run.role === 'STANDBY' || run.promoted_at !== null
  const active = waited ? within(at(run.promoted_at) ?? stop, begin, stop) : begin
  const first = within(at(run.first_record_at) ?? stop, active, stop)
  const spans: Span[] = [
    { kind: 'standby', from: begin, to: active },
    { kind: 'starting', from: active, to: first },
    { kind: 'running', from: first, to: stop },
    { kind: 'stopping', from: stop, to: end },
  ]
  return spans.filter(({ from, to }) => to > from)
}

/** "2.1 s starting, 3 h running, 4.0 s stopping". */
export function spanWords(spans: Span[]): string {
  return spans.map(({ kind, from, to }) => `${duration(to - from)} ${WORDS[kind]}`).join(', ')
}

function at(moment: string | null): number | null {
  return moment === null ? null : Date.parse(moment)
}

function within(moment: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, moment))
}

/** Numbers that no run of the list has, by the run above them, newest first, each with the reason in a sentence.
 * `whole`: no older runs are to be loaded. */
export function gapsOf(runs: Run[], whole: boolean): Map<number, string> {
  const gaps = new Map<number, string>()
  for (const [index, { id, number }] of runs.entries()) {
    const before = runs[index + 1]?.number ?? (whole ? 0 : number - 1)
    if (number - before > 1) gaps.set(id, gapWords(runs, before + 1, number - 1, index === runs.length - 1))
  }
  return gaps
}

function gapWords(runs: Run[], first: number, last: number, oldest: boolean): string {
  const numbers =
    first === last ? `Number ${count(first)} is` : `Numbers ${count(first)} to ${count(last)} are`
  const promoted = runs.find(({ number, epoch }) => epoch === first && number !== first)
  if (promoted && first === last)
    return `${numbers} the epoch that run ${count(promoted.number)} got when it was promoted.`
  if (oldest)
    return `${numbers} of an earlier pipeline of this name, or of directories that it left on the host.`
  return `${numbers} not in the database: promotions or directories on the host took them.`
}
