import type { Condition, Pipeline, StopReason } from '@/api/types'
import { count, plural, rate } from '@/lib/format'
import { PHASES } from './phases'

const STOPPED_BY: Record<StopReason, string> = {
  USER: 'on request',
  SYSTEM: 'by Headgate',
  WATCHDOG: 'by the watchdog',
  MIGRATION: 'by a migration',
}

/**
 * The state of a pipeline in one sentence: since when, what moves, what is in flight, and whether the books balance.
 * `lastHeard` is set when the figures are old; then they are not repeated as if they were current.
 */
export function headline(
  pipeline: Pipeline,
  conditions: Condition[],
  since: string,
  lastHeard: string | null = null,
): string {
  const moves = lastHeard === null ? movement(pipeline) : [`nothing newer is known than of ${lastHeard}`]
  const facts = [lead(pipeline, since), ...moves, ...books(conditions, pipeline)]
  return `${facts.join('; ')}.`
}

function lead(pipeline: Pipeline, since: string): string {
  const { word } = PHASES[pipeline.phase]
  if (isNew(pipeline)) return 'Never started yet'
  const host = pipeline.host && pipeline.phase !== 'STOPPED' ? ` on ${pipeline.host}` : ''
  const why =
    pipeline.phase === 'STOPPED' && pipeline.stop_reason ? ` ${STOPPED_BY[pipeline.stop_reason]}` : ''
  return `${word}${host} since ${since}${why}`
}

function isNew(pipeline: Pipeline): boolean {
  return pipeline.phase === 'STOPPED' && pipeline.stop_reason === null && pipeline.host === null
}

function movement(pipeline: Pipeline): string[] {
  const { live } = pipeline
  switch (pipeline.phase) {
    case 'RUNNING':
      return [
        live.records_per_second
          ? `${rate(live.records_per_second)} records a second`
          : 'no records at the moment',
      ]
    case 'PAUSED':
      return ['nothing is being read', `${count(live.in_flight)} in flight`]
    case 'PAUSING':
    case 'STOPPING':
      return [
        live.in_flight > 0 ? `${plural(live.in_flight, 'batch', 'batches')} in flight` : 'no batch in flight',
      ]
    case 'STOPPED':
      return ['no process exists']
    default:
      return [lowerFirst(PHASES[pipeline.phase].meaning.replace(/\.$/, ''))]
  }
}

function books(conditions: Condition[], pipeline: Pipeline): string[] {
  const balanced = conditions.find((condition) => condition.type === 'LedgerBalanced')?.status
  if (balanced === 'False') return ['the books do not balance']
  return balanced === 'True' && !isNew(pipeline) ? ['the books balance'] : []
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

const CONDITION_WORDS: Record<string, Record<Condition['status'], string>> = {
  Stable: { True: 'Stable', False: 'Not settled', Unknown: 'Stability unknown' },
  PositionsSafe: { True: 'Positions safe', False: 'Positions not safe', Unknown: 'Positions not known' },
  LedgerBalanced: { True: 'Books balance', False: 'Books do not balance', Unknown: 'Books not known' },
  Supervised: { True: 'Supervised', False: 'Not supervised', Unknown: 'Supervision unknown' },
}

export function conditionWord(condition: Condition): string {
  return CONDITION_WORDS[condition.type]?.[condition.status] ?? `${condition.type}: ${condition.status}`
}
