import type { Pipeline } from '@/api/types'
import { isUnsupervised, needsAttention, PHASES, urgency } from '@/domain/phases'

/** The pipelines that require action, the most urgent and then the longest-waiting first. */
export function needingAttention(pipelines: Pipeline[]): Pipeline[] {
  return pipelines
    .filter(needsAttention)
    .toSorted(
      (a, b) => urgency(a.phase) - urgency(b.phase) || Date.parse(a.phase_since) - Date.parse(b.phase_since),
    )
}

/** Why, in words: what the server says, and that supervision is missing where it is. */
export function whyAttention(pipeline: Pipeline): string {
  const said = pipeline.phase_message || PHASES[pipeline.phase].meaning
  if (!isUnsupervised(pipeline)) return said
  const alone = `Not supervised: the worker on ${pipeline.host ?? 'its host'} is silent.`
  return urgency(pipeline.phase) < urgency('RUNNING')
    ? `${said} ${alone}`
    : `${alone} The agent continues without it.`
}
