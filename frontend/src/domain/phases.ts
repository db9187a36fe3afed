import type { DesiredState, Phase } from '@/api/types'

/** A tone is never shown alone: an icon and a word always stand beside it. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle' | 'held'

interface PhaseWords {
  word: string
  tone: Tone
  /** What the phase means, in one sentence. */
  meaning: string
}

export const PHASES: Record<Phase, PhaseWords> = {
  STOPPED: { word: 'Stopped', tone: 'idle', meaning: 'No process exists; proven by its exit.' },
  PREFLIGHT: {
    word: 'Preflight',
    tone: 'busy',
    meaning: 'Every component is being initialised and probed; nothing has been consumed.',
  },
  STARTING: { word: 'Starting', tone: 'busy', meaning: 'Preflight passed; the first batch is on its way.' },
  RUNNING: { word: 'Running', tone: 'ok', meaning: 'Records move, or the source is idle and reachable.' },
  DEGRADED: {
    word: 'Degraded',
    tone: 'warn',
    meaning:
      'A sink is failing; another of its group takes the batches, or the batch is held; nothing is lost.',
  },
  STALLED: {
    word: 'Stalled',
    tone: 'bad',
    meaning: 'The process lives and there is lag, but no batch has finished in time.',
  },
  PAUSING: { word: 'Pausing', tone: 'busy', meaning: 'The batch in hand is being finished.' },
  PAUSED: {
    word: 'Paused',
    tone: 'held',
    meaning: 'Consumption is proven to have stopped; the process stays warm.',
  },
  STOPPING: {
    word: 'Stopping',
    tone: 'busy',
    meaning: 'A stop was asked for; the process has not exited yet.',
  },
  BACKOFF: {
    word: 'Backing off',
    tone: 'warn',
    meaning: 'The last run ended by itself; the next one starts when the back-off ends.',
  },
  BLOCKED: {
    word: 'Blocked',
    tone: 'bad',
    meaning: 'A position or a component needs a decision; nothing is consumed.',
  },
  FAILED: { word: 'Failed', tone: 'bad', meaning: 'It will not be restarted by itself; start it again.' },
  UNKNOWN: {
    word: 'Unknown',
    tone: 'bad',
    meaning: 'Its heartbeat or host is lost; it is not restarted elsewhere until proven dead.',
  },
}

export const PHASE_ORDER = Object.keys(PHASES) as Phase[]

const ATTENTION: Phase[] = ['BLOCKED', 'FAILED', 'STALLED', 'UNKNOWN', 'DEGRADED']

/** How urgent a phase is: 0 is the most urgent, and phases that need nobody share the last place. */
export function urgency(phase: Phase): number {
  const place = ATTENTION.indexOf(phase)
  return place < 0 ? ATTENTION.length : place
}

export function needsAttention(pipeline: {
  phase: Phase
  supervised: boolean
  desired_state: DesiredState
}): boolean {
  return ATTENTION.includes(pipeline.phase) || isUnsupervised(pipeline)
}

/** A pipeline at rest needs no supervisor; any other without one is flying blind. */
export function isUnsupervised(pipeline: {
  phase: Phase
  supervised: boolean
  desired_state: DesiredState
}): boolean {
  const atRest = pipeline.phase === 'STOPPED' && pipeline.desired_state === 'STOPPED'
  return !pipeline.supervised && !atRest
}

/** Phases in which an agent reports figures, so that silence from it means something. */
const REPORTING: Phase[] = ['RUNNING', 'DEGRADED', 'STALLED', 'PAUSING', 'PAUSED', 'STOPPING', 'STARTING']

export function reportsFigures(phase: Phase): boolean {
  return REPORTING.includes(phase)
}

export const DESIRED_WORDS: Record<DesiredState, string> = {
  RUNNING: 'running',
  PAUSED: 'paused',
  STOPPED: 'stopped',
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
    : `should be ${DESIRED_WORDS[pipeline.desired_state]}`
}
