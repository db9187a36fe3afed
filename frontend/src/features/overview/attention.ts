import type { Pipeline } from '@/api/types'
import { isUnsupervised, PHASES, urgency } from '@/domain/phases'

/** What requires action comes first, and of equals what waits longest. */
export function byUrgency(a: Pipeline, b: Pipeline): number {
  return urgency(a) - urgency(b) || Date.parse(a.phase_since) - Date.parse(b.phase_since)
}

/** The pipelines that require action, the most urgent and then the longest-waiting first. */
export function needingAttention(pipelines: Pipeline[]): Pipeline[] {
  return pipelines.filter(({ attention }) => attention !== null).toSorted(byUrgency)
}

/** Why, in words: what the server says, and that supervision is missing where it is. */
export function whyAttention(pipeline: Pipeline): string {
  const { tone, meaning } = PHASES[pipeline.phase]
  const said = pipeline.phase_message || meaning
  if (!isUnsupervised(pipeline)) return said
  const alone = `Not supervised: the worker on ${pipeline.host ?? 'its host'} is silent.`
  return tone === 'bad' || tone === 'warn' ? `${said} ${alone}` : `${alone} The agent continues without it.`
}
