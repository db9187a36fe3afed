import { isMapping, type Mapping } from '../text/values'
import { typeOf, type Schema, type SchemaTree } from './schema'

/** A new value with the keys that have no default, and nothing else. */
export function fresh(tree: SchemaTree, schema: Schema): unknown {
  const shape = tree.shape(schema)
  switch (shape.kind) {
    case 'choice':
      return shape.values.length === 1 ? shape.values[0] : (firstOf(shape.schema) ?? shape.values[0])
    case 'list':
      return shape.schema.required || (shape.schema as { minItems?: number }).minItems
        ? [fresh(tree, shape.item)]
        : []
    case 'named':
      return {}
    case 'mapping':
      return freshMapping(tree, shape.schema)
    case 'union':
      return shape.options.some(({ type }) => type === 'string')
        ? firstOf(shape.schema)
        : fresh(tree, shape.options[0]!)
    case 'scalar':
      return shape.of === 'boolean'
        ? false
        : shape.of === 'text'
          ? ''
          : (shape.schema.minimum ?? firstOf(shape.schema) ?? '')
    default:
      return ''
  }
}

const firstOf = ({ examples }: Schema) => examples?.[0]

/** `known` are values that it keeps where its schema has their keys. */
export function freshMapping(tree: SchemaTree, schema: Schema, known: Mapping = {}): Mapping {
  const properties = schema.properties ?? {}
  const type = typeOf(schema)
  const wanted = Object.keys(properties).filter(
    (key) =>
      schema.required?.includes(key) ||
      (key !== 'type' && Object.hasOwn(known, key)) ||
      (key === 'type' && type),
  )
  return Object.fromEntries(
    wanted.map((key) => [
      key,
      key === 'type' ? type : Object.hasOwn(known, key) ? known[key] : fresh(tree, properties[key]!),
    ]),
  )
}

/** The names that a key can refer to: components of the definition. */
export function namesOf(definition: Mapping, group: string): string[] {
  const part = definition[group]
  return isMapping(part) ? Object.keys(part) : []
}

/** A name that is not taken. */
export function freeName(taken: readonly string[], wanted: string): string {
  if (!taken.includes(wanted)) return wanted
  let number = 2
  while (taken.includes(`${wanted}_${number}`)) number += 1
  return `${wanted}_${number}`
}
