import type { MigrationKind, MigrationSpec, ObservationRules } from '@/api/types'
import { hidesValue } from '@/domain/hidden'
import { GATES } from '@/domain/migrations'
import { changedRules, DEFAULT_RULES } from '@/domain/observationRules'
import { definitionText, writtenPosition } from '@/domain/written'
import { chooseAgain, type ClusterDraft, clusterMissing, clusterSpec, EMPTY_CLUSTER } from './cluster/draft'

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
  shadow: ShadowDraft
  rules: ObservationRules
  gates: (typeof GATES)[number][]
}

/** How much both revisions are compared before the pause; the share in percent, null where it only informs. */
export interface ShadowDraft {
  by: 'none' | 'records' | 'for'
  records: number
  minutes: number
  percent: number | null
}

export const NO_SHADOW: ShadowDraft = { by: 'none', records: 100_000, minutes: 10, percent: null }

export const EMPTY: Draft = {
  from: 'text',
  text: '',
  revision: null,
  host: null,
  to: '',
  source: null,
  cluster: EMPTY_CLUSTER,
  shadow: NO_SHADOW,
  rules: DEFAULT_RULES,
  gates: [],
}

/** The spec to be sent; rules and gates only where they differ from what the server takes anyway. */
export function specOf(kind: MigrationKind, draft: Draft): MigrationSpec {
  return {
    ...ownOf(kind, draft),
    ...rulesOf(draft.rules),
    ...(draft.gates.length > 0 && { gates: draft.gates }),
  }
}

function ownOf(kind: MigrationKind, draft: Draft): MigrationSpec {
  switch (kind) {
    case 'revision':
      return {
        ...(draft.from === 'text' ? { definition: draft.text } : { revision: draft.revision }),
        ...shadowSpec(draft.shadow),
      }
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

function shadowSpec({ by, records, minutes, percent }: ShadowDraft): MigrationSpec {
  if (by === 'none') return {}
  const much = by === 'records' ? { records } : { for: minutes * 60 }
  return { shadow: { ...much, ...(percent !== null && { most_different: percent / 100 }) } }
}

function shadowDraft(spec: unknown): ShadowDraft {
  if (!spec) return NO_SHADOW
  const { records, for: seconds, most_different: most } = spec as Record<string, number | null>
  return {
    by: records ? 'records' : 'for',
    records: records ?? NO_SHADOW.records,
    minutes: seconds ? seconds / 60 : NO_SHADOW.minutes,
    percent: most == null ? null : Number((most * 100).toFixed(6)),
  }
}

/** A stored spec as it would be sent: without what the server takes anyway, and what it found out itself. A target is
 * that only beside the words; where there are none, it was sent. */
export function asSent({ rules, gates, ...own }: MigrationSpec): MigrationSpec {
  const foundOut = own.to ? 'target' : null
  const said = Object.entries(own).filter(([name, value]) => name !== foundOut && value !== null)
  return {
    ...Object.fromEntries(said),
    ...rulesOf({ ...DEFAULT_RULES, ...(rules as Partial<ObservationRules> | undefined) }),
    ...(Array.isArray(gates) && gates.length > 0 && { gates }),
  }
}

/** The form filled with what an earlier migration asked for. */
export function draftOf(kind: MigrationKind, spec: MigrationSpec, definition: Definition): Partial<Draft> {
  const gates = Array.isArray(spec.gates) ? spec.gates : []
  return {
    ...ownDraft(kind, spec, definition),
    rules: { ...DEFAULT_RULES, ...(spec.rules as Partial<ObservationRules> | undefined) },
    gates: GATES.filter((gate) => gates.includes(gate)),
  }
}

type Definition = Record<string, unknown>

function ownDraft(kind: MigrationKind, spec: MigrationSpec, definition: Definition): Partial<Draft> {
  switch (kind) {
    case 'revision':
      return {
        ...(typeof spec.revision === 'number'
          ? { from: 'stored', revision: spec.revision }
          : { from: 'text', text: definitionText(spec.definition) }),
        shadow: shadowDraft(spec.shadow),
      }
    case 'host':
      return { host: spec.host as string }
    case 'position':
      return writtenPosition(spec)
    case 'software':
      return {}
    case 'cluster':
      return { cluster: chooseAgain(definition, spec) }
  }
}

function rulesOf(rules: ObservationRules): MigrationSpec {
  const changed = changedRules(rules)
  return Object.keys(changed).length > 0 ? { rules: changed } : {}
}

/** What is missing before it can be planned; null when nothing is. A text is validated by the server besides. */
export function missing(kind: MigrationKind, draft: Draft): string | null {
  if (kind === 'revision' && draft.from === 'stored' && draft.revision === null)
    return 'Choose a revision first.'
  if (kind === 'revision' && draft.from === 'text' && hidesValue(draft.text))
    return 'A value in the definition is hidden. Enter it again as ${secret:NAME}.'
  if (kind === 'host' && draft.host === null) return 'Choose a host first.'
  if (kind === 'position' && draft.to.trim() === '') return 'Enter a start position first.'
  return kind === 'cluster' ? clusterMissing(draft.cluster) : null
}
