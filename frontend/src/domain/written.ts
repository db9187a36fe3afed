import type { MigrationSpec } from '@/api/types'

/** A definition as the editor and the command line take it: JSON is YAML, too. */
export function definitionText(definition: unknown): string {
  return typeof definition === 'string' ? definition : `${JSON.stringify(definition ?? {}, null, 2)}\n`
}

/** Where to resume. What was sent without words (the revert of an earlier decision) is written as a program would. */
export function writtenPosition(spec: MigrationSpec): { to: string; source: string | null } {
  const target = (spec.target ?? {}) as {
    goal?: string
    at?: number
    offsets?: object
    source?: string | null
  }
  const { goal = '', at, offsets } = target
  const exact: Record<string, unknown> = { timestamp: { timestamp: at }, offsets: { offsets } }
  return {
    to: positionText(spec.to ?? exact[goal] ?? goal),
    source: (spec.source as string | undefined) ?? target.source ?? null,
  }
}

/** A position that was sent as an object with one key, as users write it. */
function positionText(to: unknown): string {
  if (typeof to === 'string') return to
  return Object.entries((to ?? {}) as object)
    .map(([name, value]) => (value === null ? name : `${name}=${valueText(value)}`))
    .join()
}

const valueText = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value))
