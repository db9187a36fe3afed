import type { Edit } from '../text/edits'
import type { Path } from '../text/paths'
import { isMapping, type Mapping } from '../text/values'
import type { Schema, SchemaTree } from '../schema/schema'

/** Names a component, or whatever else has a name, anew, with all that refers to it. */
export function renameEdits(tree: SchemaTree, definition: Mapping, path: Path, name: string): Edit[] {
  const [group, old] = path
  const own: Edit = { kind: 'rename', path, name }
  if (path.length !== 2 || typeof old !== 'string') return [own]
  const found = [...references(tree, tree.root, definition, [])].filter((each) => each.group === group)
  const others = found.flatMap((each): Edit[] => {
    if (each.name === old)
      return [
        each.isKey
          ? { kind: 'rename', path: each.path, name }
          : { kind: 'set', path: each.path, value: name },
      ]
    return []
  })
  return [
    ...others,
    ...componentPaths(definition, `${String(group)}.${old}`, `${String(group)}.${name}`),
    own,
  ]
}

interface Reference {
  group: string
  name: string
  path: Path
  isKey: boolean
}

/** Every text of a definition that names something. */
function* references(tree: SchemaTree, schema: Schema, value: unknown, path: Path): Generator<Reference> {
  const shape = tree.shape(schema)
  const group = shape.schema.refers
  if (group && typeof value === 'string') yield { group, name: value, path, isKey: false }
  if (shape.kind === 'list' && Array.isArray(value))
    for (const [index, item] of value.entries()) yield* references(tree, shape.item, item, [...path, index])
  if (!isMapping(value)) return
  if (shape.kind === 'named') {
    for (const [key, item] of Object.entries(value)) {
      if (group && typeof item === 'number') yield { group, name: key, path: [...path, key], isKey: true }
      yield* references(tree, shape.value, item, [...path, key])
    }
    return
  }
  for (const [key, item] of Object.entries(value)) {
    const own = tree.mapping(schema, value)?.properties?.[key]
    if (own) yield* references(tree, own, item, [...path, key])
  }
}

/** In tests, components are named by their paths: `sources.shop.interceptors[0]`. */
function componentPaths(definition: Mapping, old: string, next: string): Edit[] {
  const edits: Edit[] = []
  const visit = (value: unknown, path: Path) => {
    if (typeof value === 'string' && (value === old || value.startsWith(`${old}.`)))
      edits.push({ kind: 'set', path, value: next + value.slice(old.length) })
    else if (Array.isArray(value)) value.forEach((item, index) => visit(item, [...path, index]))
    else if (isMapping(value)) Object.entries(value).forEach(([key, item]) => visit(item, [...path, key]))
  }
  const tests = Array.isArray(definition.tests) ? (definition.tests as Mapping[]) : []
  tests.forEach((test, index) => visit(test?.expect, ['tests', index, 'expect']))
  return edits
}
