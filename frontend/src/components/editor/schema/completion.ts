import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { inline } from '../text/splices'
import { isMapping, valueAt } from '../text/values'
import { caretAt, type Caret } from './caret'
import { describe } from './describe'
import { labelOf, typeOf, type Schema, type SchemaTree } from './schema'

/** What a definition can name beside its own components. */
export interface Names {
  clusters: readonly string[]
  hosts: readonly string[]
  secrets: readonly string[]
}

/** More is said in the description. */
const LONGEST = 40

const GROUPS = new Set(['sources', 'channels', 'sinks'])

/** Offers keys, values, types and names where the schema has them. */
export function definitionCompletions(tree: SchemaTree, names: Names) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString()
    const caret = caretAt(text, context.pos)
    if (!caret || (!context.explicit && caret.from === context.pos)) return null
    const options = caret.kind === 'key' ? keysAt(tree, names, caret) : valuesAt(tree, names, caret)
    return options.length > 0 ? { from: caret.from, options, validFor: /^[\w.${}:/-]*$/ } : null
  }
}

function keysAt(tree: SchemaTree, names: Names, { path, definition, hasColon }: Caret): Completion[] {
  const schema = tree.at(path, definition)
  const value = valueAt(definition, path)
  if (!schema) return []
  const shape = tree.shape(schema)
  if (shape.kind === 'list') return keysOf(tree, shape.item, undefined, hasColon)
  if (shape.kind !== 'named') return keysOf(tree, schema, value, hasColon)
  const known = shape.schema.propertyNames?.enum ?? namesFor(shape.schema, names, definition)
  const own = isMapping(value) ? Object.keys(value) : []
  return known
    .filter((name) => !own.includes(String(name)))
    .map((name) => ({ label: String(name), type: 'property', apply: keyText(String(name), hasColon) }))
}

/** The keys of a mapping that are not there; before its type is chosen, those of all types and first of all `type`. */
function keysOf(tree: SchemaTree, schema: Schema, value: unknown, hasColon: boolean): Completion[] {
  const own = isMapping(value) ? value : {}
  const shape = tree.shape(schema)
  const mapping = tree.mapping(schema, own)
  if (!mapping && shape.kind === 'union' && shape.options.some(typeOf) && !('type' in own))
    return [
      { label: 'type', type: 'property', detail: 'required', apply: keyText('type', hasColon), boost: 99 },
    ]
  return Object.entries(mapping?.properties ?? {})
    .filter(([key]) => !Object.hasOwn(own, key))
    .map(([key, property]) => {
      const required = mapping?.required?.includes(key) ?? false
      return {
        label: key,
        type: 'property',
        detail: detailOf(tree, property, required),
        info: tree.resolved(property).description,
        apply: keyText(key, hasColon),
        boost: required ? 50 : 0,
      }
    })
}

const keyText = (key: string, hasColon: boolean) => (hasColon ? inline(key) : `${inline(key)}: `)

/** Type, unit and default of a key, in a line. */
export function detailOf(tree: SchemaTree, schema: Schema, required: boolean): string {
  const { type, unit, default: without } = describe(tree, schema, required)
  const short = type.length > LONGEST ? `${type.slice(0, LONGEST - 1)}…` : type
  const shown = without !== null && without.length <= LONGEST
  return [short, unit, required ? 'required' : shown && `default ${without}`].filter(Boolean).join(', ')
}

function valuesAt(tree: SchemaTree, names: Names, caret: Caret): Completion[] {
  const { path, definition } = caret
  const parentPath = path.slice(0, -1)
  if (path.at(-1) === 'type') {
    const parent = tree.at(parentPath, definition)
    const shape = parent && tree.shape(parent)
    if (shape?.kind === 'union') return shape.options.filter(typeOf).map(typeOption)
  }
  const schema = tree.at(path, definition)
  if (!schema) return []
  const shape = tree.shape(schema)
  const isItem = typeof path.at(-1) === 'number'
  if (isItem && (shape.kind === 'mapping' || shape.kind === 'union'))
    return keysOf(tree, schema, undefined, false)
  return [...choicesOf(tree, schema), ...namesFor(schema, names, definition).map(nameOption)]
}

function typeOption(option: Schema): Completion {
  return { label: typeOf(option)!, type: 'type', detail: labelOf(option), info: option.description }
}

const nameOption = (label: string): Completion => ({ label, type: 'variable' })

function choicesOf(tree: SchemaTree, schema: Schema): Completion[] {
  const shape = tree.shape(schema)
  if (shape.kind === 'union') return shape.options.flatMap((option) => choicesOf(tree, option))
  const values =
    shape.kind === 'choice'
      ? shape.values
      : shape.kind === 'scalar' && shape.of === 'boolean'
        ? [true, false]
        : []
  return values.map((value) => ({
    label: inline(value),
    type: 'enum',
    detail: value === shape.schema.default ? 'default' : undefined,
  }))
}

function namesFor(schema: Schema, names: Names, definition: unknown): string[] {
  if (schema.secret) return names.secrets.map((name) => `\${secret:${name}}`)
  if (!schema.refers) return []
  if (schema.refers === 'clusters') return [...names.clusters]
  if (schema.refers === 'hosts') return ['any', ...names.hosts]
  const part = GROUPS.has(schema.refers) ? valueAt(definition, [schema.refers]) : undefined
  return isMapping(part) ? Object.keys(part) : []
}
