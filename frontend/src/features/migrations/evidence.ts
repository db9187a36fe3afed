import type {
  ComponentState,
  MigrationDetail,
  MigrationStep,
  PartitionTranslation,
  SinkEnd,
} from '@/api/types'

/** What the engine recorded of each step; REST returns it as it is, so its shape is declared here. */

/** What the check of a component warns of; it does not stop the migration. */
export interface PreflightWarning {
  path: string
  code: string
  message: string
  suggestion: string
}

export interface PreflightComponent extends Pick<
  ComponentState,
  'name' | 'kind' | 'type' | 'state' | 'detail'
> {
  /** Agents of an earlier version report none. */
  warnings?: PreflightWarning[]
}

export interface PreflightEvidence {
  run: number
  host: string
  components: PreflightComponent[]
  findings: unknown[]
}

/** One thing that must hold for a pause to be proven. */
export interface ProofCheck {
  name: string
  holds: boolean
  words: string
  /** What was seen, in words; empty where the check alone says it. */
  evidence: string
}

/** One rule of the observation and what it found. */
export interface ObservedCheck {
  name: string
  /** The component whose records it judges; empty where it judges none. */
  component?: string
  holds: boolean
  /** There is nothing to judge yet. */
  waits?: boolean
  before: number | string | null
  after: number | string | null
  words: string
  fatal: boolean
}

export interface Observed {
  conclusion: string
  checks: ObservedCheck[]
  seconds: number
  left: number
}

export interface Place {
  source: string
  channel: string
  topic: string
  partition: number
  offset: number
}

export interface Snapshot {
  revision: number | null
  host: string
  run: number | null
  lineage: number | null
  positions: Place[]
  totals: Record<string, number>
  digest: string
  at: string
  /** Of a source that moves to another cluster: at the exact stop. */
  translation?: PartitionTranslation[]
}

function evidenceOf<T>(steps: MigrationStep[], name: MigrationStep['name']): T | null {
  return (steps.find((step) => step.name === name)?.evidence ?? null) as T | null
}

export const preflightOf = ({ steps }: MigrationDetail) =>
  evidenceOf<PreflightEvidence>(steps, 'prepare_standby')

export const proofOf = ({ steps }: MigrationDetail): ProofCheck[] =>
  evidenceOf<{ checks: ProofCheck[] }>(steps, 'prove_pause')?.checks ?? []

export const observedOf = ({ steps, observed }: MigrationDetail): Observed | null =>
  (observed as Observed | null) ?? evidenceOf<Observed>(steps, 'observe')

/** Where a sink's topics ended on the other cluster when the pause was proven. */
export const sinkEndsOf = ({ steps }: MigrationDetail): SinkEnd[] =>
  evidenceOf<{ ends: SinkEnd[] }>(steps, 'note_sink_ends')?.ends ?? []

/** What was written down between the proof and the first change; null before. */
export function snapshotOf({ snapshot }: MigrationDetail): Snapshot | null {
  return snapshot && 'digest' in snapshot ? (snapshot as unknown as Snapshot) : null
}
