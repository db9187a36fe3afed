import { inline } from '../text/splices'
import { isSame } from '../text/values'
import type { Schema, SchemaTree, Shape } from './schema'

/** What stands beside a key, in words. */
export interface Description {
  type: string
  /** Of a number, its unit. */
  unit: string
  default: string | null
  example: string | null
  range: string | null
}

export function describe(tree: SchemaTree, schema: Schema, required: boolean): Description {
  const { unit = '', examples = [] } = tree.resolved(schema)
  const own = tree.resolved(schema)
  return {
    type: typeWords(tree, tree.shape(schema)),
    unit,
    default: required || isNothing(own.default) ? null : shown(own.default),
    example: examples.length > 0 && !isSame(examples[0], own.default) ? shown(examples[0]) : null,
    range: rangeWords(own),
  }
}

const isNothing = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const shown = (value: unknown) => inline(value)

function typeWords(tree: SchemaTree, shape: Shape): string {
  if (shape.kind === 'choice') return shape.values.map(String).join(' | ')
  if (shape.kind === 'list') return `list of ${typeWords(tree, tree.shape(shape.item))}`
  if (shape.kind === 'scalar')
    return shape.of === 'mixed' ? mixedWords(tree, shape.schema) : SCALARS[shape.of]
  return shape.kind === 'any' ? 'any value' : 'mapping'
}

function mixedWords(tree: SchemaTree, { anyOf, oneOf, type }: Schema): string {
  const each = (anyOf ?? oneOf ?? []).map((option) => tree.resolved(option))
  if (each.some(({ pattern }: Schema & { pattern?: string }) => pattern?.includes('ms|s|m|h|d')))
    return 'duration'
  const types = each.length > 0 ? each.map((option) => option.type) : [type].flat()
  return [...new Set(types.flat().map((name) => SCALARS[TYPES[String(name)] ?? 'text']))].join(' or ')
}

const TYPES: Record<string, keyof typeof SCALARS | undefined> = {
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
}

const SCALARS = {
  text: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  mixed: 'text',
}

function rangeWords({ minimum, maximum }: Schema): string | null {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  return minimum === undefined ? null : `at least ${minimum}`
}
