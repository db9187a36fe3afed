import type { DesiredState, Phase } from '@/api/types'
import vocabulary from './vocabulary.json'

/** A tone is never shown alone: an icon and a word always stand beside it. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle' | 'held'

/** A state in words: what it is called and what it implies. The texts are those of the server. */
export interface Term {
  label: string
  meaning: string
}

/** Terms with the tone in which each is shown. */
export function toned<K extends string>(
  terms: Record<K, Term>,
  tones: Record<K, Tone>,
): Record<K, Term & { tone: Tone }> {
  const names = Object.keys(tones) as K[]
  return Object.fromEntries(names.map((name) => [name, { ...terms[name], tone: tones[name] }])) as Record<
    K,
    Term & { tone: Tone }
  >
}

export const PHASES = toned<Phase>(vocabulary.phases, {
  STOPPED: 'idle',
  PREFLIGHT: 'busy',
  STARTING: 'busy',
  RUNNING: 'ok',
  DEGRADED: 'warn',
  STALLED: 'bad',
  PAUSING: 'busy',
  PAUSED: 'held',
  STOPPING: 'busy',
  BACKOFF: 'warn',
  BLOCKED: 'bad',
  FAILED: 'bad',
  UNKNOWN: 'bad',
})

export const PHASE_ORDER = Object.keys(PHASES) as Phase[]

/** Behind every place that the server gives to what requires action. */
const NO_ACTION = 99

/** How urgent a pipeline is: 0 is the most urgent, and those that require no action share the last place. */
export function urgency({ attention }: { attention: number | null }): number {
  return attention ?? NO_ACTION
}

/** A pipeline that requires action for want of a supervisor, if for nothing else. */
export function isUnsupervised(pipeline: { supervised: boolean; attention: number | null }): boolean {
  return pipeline.attention !== null && !pipeline.supervised
}

/** Phases in which an agent reports figures, so that silence from it means something. */
const REPORTING: Phase[] = ['RUNNING', 'DEGRADED', 'STALLED', 'PAUSING', 'PAUSED', 'STOPPING', 'STARTING']

export function reportsFigures(phase: Phase): boolean {
  return REPORTING.includes(phase)
}

const SATISFIES: Record<DesiredState, Phase[]> = {
  RUNNING: ['RUNNING', 'DEGRADED', 'STALLED'],
  PAUSED: ['PAUSED'],
  STOPPED: ['STOPPED'],
}

/** Says what is wanted when that is not what is observed; null when the two agree. */
export function wanted(pipeline: { phase: Phase; desired_state: DesiredState }): string | null {
  return SATISFIES[pipeline.desired_state].includes(pipeline.phase)
    ? null
    : `desired: ${vocabulary.desiredStates[pipeline.desired_state]}`
}
