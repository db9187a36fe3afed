import type { Pipeline, PipelineStatus } from '@/api/types'

/** The decisions that a pipeline may require. */
export type Question = 'positions' | 'quarantine' | 'reconcile' | 'lost'

/** Which questions stand open now, as far as the server has said that they do. */
export function openQuestions(pipeline: Pipeline, status: PipelineStatus): Question[] {
  const codes = status.findings.map(({ code }) => code)
  const unknown = pipeline.phase === 'UNKNOWN'
  const open: [Question, boolean][] = [
    ['reconcile', codes.includes('DATABASE_BEHIND') || pipeline.phase_reason === 'database_behind'],
    ['lost', unknown && pipeline.phase_reason === 'host_lost'],
    ['quarantine', codes.includes('CRASH_LOOP')],
    ['positions', status.choices.length > 0],
  ]
  return open.filter(([, stands]) => stands).map(([question]) => question)
}
