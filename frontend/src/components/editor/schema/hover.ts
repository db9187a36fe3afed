import { isScalar, type Node } from 'yaml'
import { end, entryAt, nodes, start } from '../text/nodes'
import type { Path } from '../text/paths'
import { read } from '../text/reading'
import { valueAt } from '../text/values'
import { describe, type Description } from './describe'
import { labelOf, typeOf, type SchemaTree } from './schema'

export interface Hover extends Description {
  from: number
  to: number
  title: string
  description: string
  required: boolean
}

/** What a key or a value at a place of a text means. */
export function hoverAt(tree: SchemaTree, text: string, position: number): Hover | null {
  const { document, value, problem } = read(text)
  const found = problem
    ? null
    : placeAt(document.contents as Node | null, position, (path) => entryAt(document, path)?.key)
  if (!found) return null
  const { path, from, to } = found
  const schema = tree.at(path, value)
  if (!schema) return null
  const parent = path.slice(0, -1)
  const required =
    tree.mappingAt(parent, value, valueAt(value, parent))?.required?.includes(String(path.at(-1))) ?? false
  const component = path.at(-1) === 'type' ? tree.mappingAt(parent, value, valueAt(value, parent)) : null
  const own =
    component && typeOf(component) ? component : (tree.mappingAt(path, value, valueAt(value, path)) ?? schema)
  return {
    from,
    to,
    title: own.kind ? labelOf(own) : (schema.title ?? own.title ?? String(path.at(-1))),
    description: (component ? own.description : (schema.description ?? own.description)) ?? '',
    required,
    ...describe(tree, schema, required),
  }
}

function placeAt(
  root: Node | null,
  position: number,
  keyOf: (path: Path) => Node | null | undefined,
): { path: Path; from: number; to: number } | null {
  for (const { node, path } of nodes(root)) {
    for (const own of [keyOf(path), isScalar(node) ? node : null])
      if (own && start(own) <= position && position <= end(own) && path.length > 0)
        return { path, from: start(own), to: end(own) }
  }
  return null
}
