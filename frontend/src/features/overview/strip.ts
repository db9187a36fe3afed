import type { FleetPipeline, Phase } from '@/api/types'
import { PHASES } from '@/domain/phases'
import { duration } from '@/lib/format'

export type History = FleetPipeline['history']

/** Slots one after the other with the same phase; null before the pipeline was created. */
export interface Span {
  phase: Phase | null
  slot: number
  slots: number
}

export function spansOf({ phases }: History): Span[] {
  const spans: Span[] = []
  phases.forEach((phase, slot) => {
    const last = spans.at(-1)
    if (last && last.phase === phase) last.slots += 1
    else spans.push({ phase, slot, slots: 1 })
  })
  return spans
}

export function labelOf(phase: Phase | null): string {
  return phase === null ? 'Not created yet' : PHASES[phase].label
}

/** When a slot begins, or the one before it ends. */
export function slotStart({ since, slot_seconds }: History, slot: number): string {
  return new Date(Date.parse(since) + slot * slot_seconds * 1_000).toISOString()
}

/** The day in one sentence, the longest first: "Running 23 h, failed 1 h". */
export function daySaid(history: History): string {
  const slots = new Map<Phase | null, number>()
  for (const phase of history.phases) slots.set(phase, (slots.get(phase) ?? 0) + 1)
  const parts = [...slots].toSorted(([, a], [, b]) => b - a)
  const said = parts.map(
    ([phase, n]) => `${labelOf(phase).toLowerCase()} ${duration(n * history.slot_seconds * 1_000)}`,
  )
  return said.join(', ')
}
