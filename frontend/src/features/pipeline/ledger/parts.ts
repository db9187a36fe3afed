import type { ChannelLedgerTotals, ComponentTotals, LedgerBatch } from '@/api/types'
import { count } from '@/lib/format'

/** A part of a channel's sums: of a component, or what no component has counted. */
export interface Part {
  name: string
  detail: string
  counts: Record<string, number>
}

/** The parts of a channel's sums. Revisions are named where another component has stood at the same path. */
export function partsOf({ components, not_by_component }: ChannelLedgerTotals): Part[] {
  const parts = components.map((each) => ({
    name: each.component,
    detail: detailOf(each, components),
    counts: countsOf(each),
  }))
  if (Object.keys(not_by_component).length === 0) return parts
  return [...parts, { name: 'Not counted by component', detail: '', counts: not_by_component }]
}

function countsOf({ added, routed_elsewhere, filtered, unrouted, dead_lettered }: ComponentTotals) {
  return { added, routed_elsewhere, filtered, unrouted, dead_lettered }
}

function detailOf(own: ComponentTotals, all: ComponentTotals[]): string {
  const alone = all.filter(({ component }) => component === own.component).length === 1
  return [own.type, !alone && revisionsOf(own)].filter(Boolean).join(', ')
}

function revisionsOf({ first_revision, last_revision }: ComponentTotals): string {
  return first_revision === last_revision
    ? `revision ${first_revision}`
    : `revisions ${first_revision} to ${last_revision}`
}

/** What each component has counted of a batch, a line for each; nothing where there is nothing to be counted. */
export function partsText(counter: 'filtered', batch: LedgerBatch): string | undefined {
  if (batch[counter] === 0) return undefined
  if (batch.components === null) return 'Not counted by component'
  return Object.entries(batch.components)
    .filter(([, counts]) => counts[counter])
    .map(([name, counts]) => `${name}: ${count(counts[counter] ?? 0)}`)
    .join('\n')
}
