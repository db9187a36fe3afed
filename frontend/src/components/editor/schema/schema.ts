import type { Path } from '../text/paths'
import { isMapping, type Mapping } from '../text/values'

/** A part of the JSON Schema of definitions, with the words of Headgate. */
export interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  type?: string | string[]
  title?: string
  description?: string
  default?: unknown
  examples?: unknown[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  patternProperties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  propertyNames?: Schema
  items?: Schema
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  unit?: string
  secret?: boolean
  refers?: 'sources' | 'channels' | 'sinks' | 'clusters' | 'hosts'
  kind?: string
  functions?: { name: string; signature: string; description: string }[]
}

/** What a value can be, once references are followed and "or nothing" is left out. */
export type Shape =
  | { kind: 'scalar'; of: 'text' | 'integer' | 'number' | 'boolean' | 'mixed'; schema: Schema }
  | { kind: 'choice'; values: unknown[]; schema: Schema }
  | { kind: 'mapping'; schema: Schema }
  | { kind: 'named'; value: Schema; schema: Schema }
  | { kind: 'list'; item: Schema; schema: Schema }
  | { kind: 'union'; options: Schema[]; schema: Schema }
  | { kind: 'any'; schema: Schema }

/** The schema of a definition, to ask about its parts. */
export class SchemaTree {
  constructor(readonly root: Schema) {}

  /** A part with its reference followed; what the place says of itself wins. */
  resolved(schema: Schema): Schema {
    if (!schema.$ref) return schema
    const { $ref, ...own } = schema
    const part = this.root.$defs?.[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}
    return { ...this.resolved(part), ...own }
  }

  shape(schema: Schema): Shape {
    const own = this.resolved(schema)
    const options = this.options(own)
    if (own.const !== undefined) return { kind: 'choice', values: [own.const], schema: own }
    if (own.enum) return { kind: 'choice', values: own.enum, schema: own }
    if (options.length === 1)
      return this.shape({ ...facts(own), ...this.resolved(options[0]!), ...facts(own) })
    if (options.length > 1) {
      const all = options.map((each) => this.shape(each))
      if (all.every(({ kind }) => kind === 'scalar')) return { kind: 'scalar', of: 'mixed', schema: own }
      return { kind: 'union', options: options.map((each) => this.resolved(each)), schema: own }
    }
    if (own.properties) return { kind: 'mapping', schema: own }
    const value = valueSchema(own)
    if (own.type === 'object' && value) return { kind: 'named', value: inherited(own, value), schema: own }
    if (own.type === 'array') return { kind: 'list', item: inherited(own, own.items ?? {}), schema: own }
    const of = SCALARS[String(own.type)]
    if (of) return { kind: 'scalar', of, schema: own }
    return Array.isArray(own.type)
      ? { kind: 'scalar', of: 'mixed', schema: own }
      : { kind: 'any', schema: own }
  }

  private options(schema: Schema): Schema[] {
    return (schema.oneOf ?? schema.anyOf ?? []).filter((each) => this.resolved(each).type !== 'null')
  }

  /** The option of a union that a value is written as: by its `type`, else by its keys, else the first of its kind. */
  optionOf(options: readonly Schema[], value: unknown): Schema | null {
    if (!isMapping(value))
      return options.find((each) => !['mapping', 'named'].includes(this.shape(each).kind)) ?? null
    const mappings = options.filter((each) => this.shape(each).kind === 'mapping')
    if (!mappings.some(hasType))
      return (
        mappings.find(({ properties = {} }) => Object.keys(value).some((key) => key in properties)) ?? null
      )
    const fallback = mappings.find(({ properties }) => properties?.type?.default !== undefined)
    return value.type === undefined
      ? (fallback ?? null)
      : (mappings.find((each) => typeOf(each) === value.type) ?? null)
  }

  /** The schema at a path; `value` is the definition, which says the types of its components. */
  at(path: Path, value: unknown): Schema | null {
    let schema: Schema | null = this.root
    let here = value
    for (const part of path) {
      schema = schema && this.below(schema, part, here)
      here = isMapping(here) || Array.isArray(here) ? (here as Mapping)[part] : undefined
    }
    return schema && this.resolved(schema)
  }

  /** The mapping that a value is written as; null where its type is not known. */
  mappingAt(path: Path, value: unknown, own: unknown): Schema | null {
    const schema = this.at(path, value)
    return schema && this.mapping(schema, own)
  }

  mapping(schema: Schema, value: unknown): Schema | null {
    const shape = this.shape(schema)
    if (shape.kind === 'mapping') return shape.schema
    if (shape.kind !== 'union') return null
    const option = this.optionOf(shape.options, isMapping(value) ? value : {})
    return option && this.shape(option).kind === 'mapping' ? option : null
  }

  private below(schema: Schema, part: string | number, value: unknown): Schema | null {
    const shape = this.shape(schema)
    if (shape.kind === 'list') return typeof part === 'number' ? shape.item : null
    if (shape.kind === 'named') return shape.value
    return this.mapping(schema, value)?.properties?.[part] ?? null
  }
}

const SCALARS: Record<string, 'text' | 'integer' | 'number' | 'boolean' | undefined> = {
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
}

/** What a key says of itself beside the type of its value. */
function facts({ title, description, default: without, examples, unit, secret, refers }: Schema): Schema {
  const all = { title, description, default: without, examples, unit, secret, refers }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

const inherited = ({ secret, refers }: Schema, schema: Schema): Schema => ({
  ...facts({ secret, refers }),
  ...schema,
})

function valueSchema({ patternProperties, additionalProperties }: Schema): Schema | null {
  const [pattern] = Object.values(patternProperties ?? {})
  return pattern ?? (typeof additionalProperties === 'object' ? additionalProperties : null)
}

const hasType = ({ properties }: Schema) => properties?.type?.const !== undefined

/** The value of `type` that chooses a component. */
export const typeOf = ({ properties }: Schema) => properties?.type?.const as string | undefined

/** What is called so in lists of types. */
export const labelOf = (schema: Schema) =>
  (schema.kind ? schema.title : undefined) ?? typeOf(schema) ?? schema.title ?? ''
