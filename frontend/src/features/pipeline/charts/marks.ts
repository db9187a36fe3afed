import type { MigrationStage } from '@/api/types'
import type { components } from '@/api/schema'
import { STAGES } from '@/domain/migrations'
import { PHASES, type Tone } from '@/domain/phases'
import type { Span } from './range'

export type Mark = components['schemas']['Mark']

/** Marks that lie so close together that they share one button. */
export interface Cluster {
  /** Where it is, from 0 to 1. */
  place: number
  marks: Mark[]
}

/** Events in one lane: a button is `width` wide, so those whose buttons would touch become one. */
export function clusters(marks: Mark[], { from, to }: Span, laneWidth: number, width: number): Cluster[] {
  const found: Cluster[] = []
  const near = laneWidth > 0 ? width / laneWidth : 1
  for (const mark of marks.toSorted((one, other) => one.at.localeCompare(other.at))) {
    const place = (Date.parse(mark.at) / 1_000 - from) / (to - from)
    if (place < 0 || place > 1) continue
    const last = found.at(-1)
    if (last && place - last.place < near) last.marks.push(mark)
    else found.push({ place, marks: [mark] })
  }
  return found
}

/** A mark in a few words. */
export function wordsOf({ kind, state }: Mark): string {
  if (kind === 'phase.changed') return PHASES[state as keyof typeof PHASES]?.label ?? state
  if (kind === 'sink.switched') return 'Sink switched'
  if (kind === 'sink.recovered') return 'Sink recovered'
  const stage = kind.replace('migration.', '').toUpperCase() as MigrationStage
  return `Migration: ${(STAGES[stage]?.label ?? stage).toLowerCase()}`
}

/** What happened from one time until another, in words; empty where nothing did. */
export function wordsBetween(marks: Mark[], from: number, to: number): string {
  return marks
    .filter(({ at }) => Date.parse(at) >= from * 1_000 && Date.parse(at) < to * 1_000)
    .map(wordsOf)
    .join(', ')
}

const WORST: Tone[] = ['bad', 'warn', 'held', 'busy', 'ok', 'idle']

/** The tone of the worst of them. */
export function toneOf(marks: Mark[]): Tone {
  const tones = marks.map(({ kind, state }) =>
    kind === 'phase.changed' ? (PHASES[state as keyof typeof PHASES]?.tone ?? 'idle') : 'busy',
  )
  return WORST.find((tone) => tones.includes(tone)) ?? 'idle'
}
