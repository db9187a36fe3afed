import type { MigrationKind, MigrationSpec } from '@/api/types'
import type { GATES } from '@/domain/migrations'
import { type ClusterDraft, clusterMissing, clusterSpec, EMPTY_CLUSTER } from './cluster/draft'

/** What the form holds; which of it matters depends on the kind. */
export interface Draft {
  /** Whether the new revision is written here, or is one that is stored. */
  from: 'text' | 'stored'
  text: string
  revision: number | null
  host: string | null
  to: string
  source: string | null
  cluster: ClusterDraft
  rules: Rules
  gates: (typeof GATES)[number][]
}

export interface Rules {
  window: number
  then: 'commit' | 'ask'
  otherwise: 'roll_back' | 'ask'
  band: number
  dead_letters: number
  lag_slack: number
  crashes: number
}

/** What the server takes where nothing is said. */
export const DEFAULT_RULES: Rules = {
  window: 60,
  then: 'commit',
  otherwise: 'roll_back',
  band: 0.5,
  dead_letters: 0,
  lag_slack: 1_000,
  crashes: 1,
}

export const EMPTY: Draft = {
  from: 'text',
  text: '',
  revision: null,
  host: null,
  to: '',
  source: null,
  cluster: EMPTY_CLUSTER,
  rules: DEFAULT_RULES,
  gates: [],
}

/** The spec to be sent; rules and gates only where they differ from what the server takes anyway. */
export function specOf(kind: MigrationKind, draft: Draft): MigrationSpec {
  return {
    ...ownOf(kind, draft),
    ...changedRules(draft.rules),
    ...(draft.gates.length > 0 && { gates: draft.gates }),
  }
}

function ownOf(kind: MigrationKind, draft: Draft): MigrationSpec {
  switch (kind) {
    case 'revision':
      return draft.from === 'text' ? { definition: draft.text } : { revision: draft.revision }
    case 'host':
      return { host: draft.host }
    case 'position':
      return { to: draft.to.trim(), ...(draft.source !== null && { source: draft.source }) }
    case 'software':
      return {}
    case 'cluster':
      return clusterSpec(draft.cluster)
  }
}

/** A stored spec as it would be sent: without what the server takes anyway, and what it found out itself. */
export function asSent({ rules, gates, ...own }: MigrationSpec): MigrationSpec {
  const said = Object.entries(own).filter(([name, value]) => name !== 'target' && value !== null)
  return {
    ...Object.fromEntries(said),
    ...changedRules({ ...DEFAULT_RULES, ...(rules as Partial<Rules> | undefined) }),
    ...(Array.isArray(gates) && gates.length > 0 && { gates }),
  }
}

function changedRules(rules: Rules): MigrationSpec {
  const changed = Object.entries(rules).filter(
    ([name, value]) => DEFAULT_RULES[name as keyof Rules] !== value,
  )
  return changed.length > 0 ? { rules: Object.fromEntries(changed) } : {}
}

/** What is missing before it can be planned; null when nothing is. A text is judged by the server besides. */
export function missing(kind: MigrationKind, draft: Draft): string | null {
  if (kind === 'revision' && draft.from === 'stored' && draft.revision === null)
    return 'Choose a revision first.'
  if (kind === 'host' && draft.host === null) return 'Choose a host first.'
  if (kind === 'position' && draft.to.trim() === '') return 'Write where to go on first.'
  return kind === 'cluster' ? clusterMissing(draft.cluster) : null
}
