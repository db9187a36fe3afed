import type { MigrationKind } from '@/api/types'
import { EMPTY_CLUSTER, offsetRow, pair } from './cluster/draft'
import { type Draft, EMPTY } from './draft'

/** What is written in the first step outlives a reload of its tab and a look at another kind, and nothing else. */
export interface Kept {
  /** What the link had filled in at its start. */
  link: string
  draft: Draft
  reason: string
}

const key = (pipeline: string, kind: MigrationKind) => `headgate.migration.${pipeline}.${kind}`

/** What was kept of a pipeline and a kind; null where there is nothing, or nothing that the form of today takes. */
export function readForm(pipeline: string, kind: MigrationKind): Kept | null {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(key(pipeline, kind)) ?? 'null')
    return fits(SAMPLE, found) ? (found as Kept) : null
  } catch {
    return null
  }
}

/** Without the text, which is kept where the editor finds it too, and without what the server knows better. */
export function keepForm(pipeline: string, kind: MigrationKind, { draft, ...rest }: Kept): void {
  const own = { ...draft, text: '', cluster: { ...draft.cluster, present: {} } }
  try {
    sessionStorage.setItem(key(pipeline, kind), JSON.stringify({ ...rest, draft: own }))
  } catch {
    // Without storage the form is simply not kept over a reload.
  }
}

export function dropForm(pipeline: string, kind: MigrationKind): void {
  try {
    sessionStorage.removeItem(key(pipeline, kind))
  } catch {
    // Nothing was kept, so nothing is left.
  }
}

/** Everything that the form reads, with one line of each list. */
const SAMPLE: Kept = {
  link: '',
  reason: '',
  draft: {
    ...EMPTY,
    cluster: { ...EMPTY_CLUSTER, options: [pair()], topics: [pair()], offsets: [offsetRow()] },
    gates: ['COMMITTED'],
  },
}

/** Whether a value has the shape of a sample; null in the sample stands for a name, a number or nothing. */
function fits(sample: unknown, value: unknown): boolean {
  if (sample === null) return value === null || ['string', 'number'].includes(typeof value)
  if (Array.isArray(sample)) return Array.isArray(value) && value.every((each) => fits(sample[0], each))
  if (typeof sample !== 'object') return typeof value === typeof sample
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(sample).every(([name, part]) => fits(part, (value as Record<string, unknown>)[name]))
}
