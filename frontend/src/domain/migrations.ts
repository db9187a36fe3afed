import type { Consequence, Migration, MigrationKind, MigrationPlan, MigrationStage } from '@/api/types'
import { duration } from '@/lib/format'
import type { Tone } from './phases'

interface KindWords {
  /** In a list. */
  word: string
  /** What it changes, in one sentence. */
  meaning: string
}

export const KINDS: Record<MigrationKind, KindWords> = {
  revision: {
    word: 'New revision',
    meaning: 'Any component is added, changed or taken away by another definition.',
  },
  host: { word: 'Another host', meaning: 'The same definition goes on running on another host.' },
  cluster: { word: 'Another cluster', meaning: 'A source or a sink moves to another Kafka cluster.' },
  position: {
    word: 'Another position',
    meaning: 'It goes on elsewhere in the log, with what that skips counted.',
  },
  software: {
    word: "The agent's software",
    meaning: 'The same definition goes on with the software that is installed on its host now.',
  },
}

interface StageWords {
  word: string
  tone: Tone
  meaning: string
}

export const STAGES: Record<MigrationStage, StageWords> = {
  DRAFT: { word: 'Blocked plan', tone: 'warn', meaning: 'It is written down; something blocks it.' },
  PLANNED: { word: 'Planned', tone: 'idle', meaning: 'The plan is made. Nothing was touched.' },
  APPROVED: { word: 'Approved', tone: 'held', meaning: 'This very plan is approved; it waits to be begun.' },
  PREFLIGHT: {
    word: 'Preflight',
    tone: 'busy',
    meaning: 'The new agent is made ready in standby; the old one goes on working.',
  },
  PAUSING: { word: 'Pausing', tone: 'busy', meaning: 'The batch in hand is finished, and no other begins.' },
  PAUSE_PROVEN: {
    word: 'Proving the pause',
    tone: 'busy',
    meaning: 'It is being proven that nothing is read, in flight or unaccounted for.',
  },
  SNAPSHOT: { word: 'Snapshot', tone: 'busy', meaning: 'Positions, revision and books are written down.' },
  APPLYING: { word: 'Handing over', tone: 'busy', meaning: 'The old run is ended and proven over.' },
  READY_TO_CUT_OVER: {
    word: 'Ready to cut over',
    tone: 'busy',
    meaning: 'Nothing runs the pipeline; the new agent is ready to take over.',
  },
  RESUMING: { word: 'Resuming', tone: 'busy', meaning: 'The new agent delivers its first records.' },
  VERIFYING: {
    word: 'Verifying',
    tone: 'busy',
    meaning: 'Books, lag, rate and errors are compared with those of before.',
  },
  COMMITTED: { word: 'Committed', tone: 'ok', meaning: 'It is done, and stays.' },
  ROLLING_BACK: { word: 'Rolling back', tone: 'warn', meaning: 'It is being taken back.' },
  ROLLED_BACK: {
    word: 'Rolled back',
    tone: 'warn',
    meaning: 'It was taken back after something had changed.',
  },
  NEEDS_ATTENTION: {
    word: 'Needs a person',
    tone: 'bad',
    meaning: 'It does not go on by itself; a person chooses among what is possible.',
  },
  ABORTED: { word: 'Given up', tone: 'idle', meaning: 'It ended before anything had changed.' },
}

interface ConsequenceWords {
  word: string
  tone: Tone
  meaning: string
}

export const CONSEQUENCES: Record<Consequence, ConsequenceWords> = {
  hot: { word: 'Hot', tone: 'ok', meaning: 'Nothing that runs depends on it.' },
  restart: { word: 'Restart', tone: 'busy', meaning: 'Another process takes over on the same checkpoint.' },
  new_lineage: {
    word: 'New lineage',
    tone: 'held',
    meaning: 'Another checkpoint begins, exactly at the positions of the ledger.',
  },
  position_decision: {
    word: 'Position decision',
    tone: 'warn',
    meaning: 'The positions mean nothing there; a person decides where to go on.',
  },
}

/** Stages that a person may ask to be asked before. */
export const GATES = ['PAUSING', 'APPLYING', 'READY_TO_CUT_OVER', 'COMMITTED'] as const

export const GATE_WORDS: Record<(typeof GATES)[number], string> = {
  PAUSING: 'Before the pause',
  APPLYING: 'Before the old run is ended',
  READY_TO_CUT_OVER: 'Before the new agent takes over',
  COMMITTED: 'Before it is committed',
}

/** Whether a person is asked at the end when all is well: by the rules of the observation, or at a gate. */
export function asksToCommit({ rules, gates }: Pick<MigrationPlan, 'rules' | 'gates'>): boolean {
  return rules.then === 'ask' || gates.includes('COMMITTED')
}

/** Stages in which the engine is at work, so that what is shown changes without an event. */
const WORKING: MigrationStage[] = [
  'PREFLIGHT',
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
  { begun_at, ended_at }: Pick<Migration, 'begun_at' | 'ended_at'>,
  now: number,
): string {
  if (begun_at === null) return 'not begun'
  if (ended_at !== null) return duration(Date.parse(ended_at) - Date.parse(begun_at))
  return duration(Math.floor((now - Date.parse(begun_at)) / 1_000) * 1_000)
}

/** From where to where, in short; empty before it has begun. */
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
