import type { SchemaTree } from '../schema/schema'
import type { Edit } from '../text/edits'
import type { Path } from '../text/paths'
import { isMapping, valueAt, type Mapping } from '../text/values'

/** Takes a key out, and each mapping above that it leaves empty and that need not be there. */
export function unset(tree: SchemaTree, definition: Mapping, path: Path): Edit {
  const parentPath = path.slice(0, -1)
  const parent = valueAt(definition, parentPath)
  const isLast = isMapping(parent) && Object.keys(parent).length === 1
  return isLast && isOptional(tree, definition, parentPath)
    ? unset(tree, definition, parentPath)
    : { kind: 'remove', path }
}

/** Whether a path ends in a key that may be left out. */
export function isOptional(tree: SchemaTree, definition: Mapping, path: Path): boolean {
  const key = path.at(-1)
  if (typeof key !== 'string') return false
  const parentPath = path.slice(0, -1)
  const mapping = tree.mappingAt(parentPath, definition, valueAt(definition, parentPath))
  return mapping !== null && !mapping.required?.includes(key)
}
