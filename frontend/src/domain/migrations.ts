import type { Consequence, Migration, MigrationKind, MigrationPlan, MigrationStage } from '@/api/types'
import { duration } from '@/lib/format'
import { toned, type Term } from './phases'
import vocabulary from './vocabulary.json'

export const KINDS: Record<MigrationKind, Term> = vocabulary.kinds

export const STAGES = toned<MigrationStage>(vocabulary.stages, {
  DRAFT: 'warn',
  PLANNED: 'idle',
  APPROVED: 'held',
  PREFLIGHT: 'busy',
  SHADOWING: 'busy',
  PAUSING: 'busy',
  PAUSE_PROVEN: 'busy',
  SNAPSHOT: 'busy',
  APPLYING: 'busy',
  READY_TO_CUT_OVER: 'busy',
  RESUMING: 'busy',
  VERIFYING: 'busy',
  COMMITTED: 'ok',
  ROLLING_BACK: 'warn',
  ROLLED_BACK: 'warn',
  NEEDS_ATTENTION: 'bad',
  ABORTED: 'idle',
})

export const CONSEQUENCES = toned<Consequence>(vocabulary.consequences, {
  hot: 'ok',
  restart: 'busy',
  new_lineage: 'held',
  position_decision: 'warn',
})

export type Gate = keyof typeof vocabulary.gates

/** Where an approval gate may stand, by the stage that waits behind it. */
export const GATE_LABELS: Record<Gate, string> = vocabulary.gates

export const GATES = Object.keys(GATE_LABELS) as Gate[]

/** Whether a decision is requested at the end when all checks pass: by the verification rules, or at a gate. */
export function asksToCommit({ rules, gates }: Pick<MigrationPlan, 'rules' | 'gates'>): boolean {
  return rules.then === 'ask' || gates.includes('COMMITTED')
}

/** Stages in which the engine is at work, so that what is shown changes without an event. */
const WORKING: MigrationStage[] = [
  'PREFLIGHT',
  'SHADOWING',
  'PAUSING',
  'PAUSE_PROVEN',
  'SNAPSHOT',
  'APPLYING',
  'READY_TO_CUT_OVER',
  'RESUMING',
  'VERIFYING',
  'ROLLING_BACK',
]

export function isWorking(stage: MigrationStage): boolean {
  return WORKING.includes(stage)
}

/** How long a migration has been at work, in whole seconds, or how long it was. */
export function durationOf(
  { started_at, ended_at }: Pick<Migration, 'started_at' | 'ended_at'>,
  now: number,
): string {
  if (started_at === null) return 'Not started'
  if (ended_at !== null) return duration(Date.parse(ended_at) - Date.parse(started_at))
  return duration(Math.floor((now - Date.parse(started_at)) / 1_000) * 1_000)
}

/** From where to where, in short; empty before it has started. */
export function movement({ old_host, new_host, old_revision, new_revision }: Migration): string {
  return [
    old_host !== null && new_host !== null && old_host !== new_host && `${old_host} to ${new_host}`,
    old_revision !== null &&
      new_revision !== null &&
      old_revision !== new_revision &&
      `revision ${old_revision} to ${new_revision}`,
  ]
    .filter(Boolean)
    .join(', ')
}
