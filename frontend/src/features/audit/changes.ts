import type { AuditEntry, Change } from '@/api/types'

export interface Difference {
  changes: Change[]
  /** What is the same before and after, such as the name of what was changed. */
  same: [path: string, value: unknown][]
}

/** What a request changed, key by key. */
export function differenceOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Difference {
  const old = new Map(leaves(before))
  const next = new Map(leaves(after))
  const found: Difference = { changes: [], same: [] }
  for (const path of new Set([...old.keys(), ...next.keys()])) {
    const change = { path: path || 'value', old: old.get(path), new: next.get(path) }
    if (!old.has(path)) found.changes.push({ ...change, op: 'add' })
    else if (!next.has(path)) found.changes.push({ ...change, op: 'remove' })
    else if (JSON.stringify(change.old) === JSON.stringify(change.new))
      found.same.push([change.path, change.old])
    else found.changes.push({ ...change, op: 'change' })
  }
  return found
}

/** Values by their path; a list is one value, since its places move. */
function leaves(value: unknown, path = ''): [string, unknown][] {
  if (value === null || value === undefined) return path ? [[path, value]] : []
  if (typeof value !== 'object' || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, each]) => leaves(each, path ? `${path}.${key}` : key))
}
