import type { MigrationSpec } from '@/api/types'
import { HIDDEN } from '@/domain/hidden'
import { randomKey } from '@/lib/ids'

/** A line of a list that a user writes; `id` lives as long as the line does. */
export interface Pair {
  id: string
  name: string
  value: string
}

export interface OffsetRow {
  id: string
  topic: string
  partition: string
  offset: string
}

export type By = 'mapping' | 'timestamp' | 'given'

/** What the form of a move to another Kafka cluster holds; all of it is text until it is sent. */
export interface ClusterDraft {
  /** `sources.shop` or `sinks.out`. */
  path: string | null
  /** The component as it is now. */
  present: Record<string, unknown>
  servers: string
  options: Pair[]
  group: string
  pattern: string
  /** A source's topics (`name`), and what each is called on the new cluster; empty where that is the same. */
  topics: Pair[]
  topic: string
  allowed: string
  prefix: string
  by: By
  syncs: string
  on: 'old' | 'new'
  offsets: OffsetRow[]
}

export const EMPTY_CLUSTER: ClusterDraft = {
  path: null,
  present: {},
  servers: '',
  options: [],
  group: '',
  pattern: '',
  topics: [],
  topic: '',
  allowed: '',
  prefix: '',
  by: 'mapping',
  syncs: '',
  on: 'old',
  offsets: [],
}

type Definition = Record<string, unknown>
type Components = Record<string, Record<string, unknown>>

const groupOf = (definition: Definition, group: string) => (definition[group] ?? {}) as Components

/** What can move: every source and sink of the type kafka, by its path. */
export function movable(definition: Definition): string[] {
  return ['sources', 'sinks'].flatMap((group) =>
    Object.entries(groupOf(definition, group))
      .filter(([, { type }]) => type === 'kafka')
      .map(([name]) => `${group}.${name}`),
  )
}

const split = (path: string) => {
  const place = path.indexOf('.')
  return [path.slice(0, place), path.slice(place + 1)] as const
}

export const isSink = ({ path }: Pick<ClusterDraft, 'path'>) => path?.startsWith('sinks.') ?? false

export const pair = (name = '', value = ''): Pair => ({ id: randomKey(), name, value })

export const offsetRow = (topic = '', partition = '', offset = ''): OffsetRow => ({
  ...{ id: randomKey(), topic, partition, offset },
})

const listOf = (value: unknown) => (Array.isArray(value) ? value.map(String) : [])
const recordOf = (value: unknown) => (value ?? {}) as Record<string, unknown>
const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** The component as the definition has it now; empty where it has none. */
export function componentAt(definition: Definition, path: string): Record<string, unknown> {
  const [group, name] = split(path)
  return groupOf(definition, group)[name] ?? {}
}

/** The form as it starts for a component: with its present settings, but for the address, which has to be another. */
export function choose(definition: Definition, path: string): ClusterDraft {
  const present = componentAt(definition, path)
  return {
    ...EMPTY_CLUSTER,
    path,
    present,
    options: Object.entries(present.options ?? {}).map(([key, value]) => pair(key, String(value))),
    group: textOf(present.group_id),
    pattern: textOf(present.topics_pattern),
    topics: listOf(present.topics).map((topic) => pair(topic)),
    topic: textOf(present.topic),
    allowed: listOf(present.allowed_topics).join(', '),
    prefix: textOf(present.allowed_topic_prefix),
  }
}

/** The form filled with what was asked for before. */
export function chooseAgain(definition: Definition, spec: MigrationSpec): ClusterDraft {
  const path = spec.source ? `sources.${String(spec.source)}` : `sinks.${String(spec.sink)}`
  const [group, name] = split(path)
  const to = recordOf(spec.to)
  const present = componentAt(definition, path)
  const there = choose({ [group]: { [name]: { ...present, ...to } } }, path)
  const renames = recordOf(spec.topics)
  const names = new Set([...listOf(present.topics), ...Object.keys(renames)])
  return {
    ...there,
    present,
    servers: textOf(to.bootstrap_servers),
    options:
      'options' in to
        ? there.options.map((row) => unmistakable(row, recordOf(present.options)))
        : there.options,
    topics: [...names].map((topic) => pair(topic, textOf(renames[topic]))),
    ...translationOf(recordOf(spec.positions)),
  }
}

/** The same mask hides another value here than there, so it must not pass for one that was left alone. */
function unmistakable(row: Pair, present: Record<string, unknown>): Pair {
  return row.value === HIDDEN && present[row.name] === HIDDEN ? { ...row, value: '' } : row
}

const WAYS: By[] = ['mapping', 'timestamp', 'given']

function translationOf({ by, topic, on, offsets }: Record<string, unknown>) {
  return {
    by: WAYS.find((way) => way === by) ?? EMPTY_CLUSTER.by,
    syncs: textOf(topic),
    on: on === 'new' ? ('new' as const) : ('old' as const),
    offsets: Object.entries(recordOf(offsets)).flatMap(([name, places]) =>
      Object.entries(recordOf(places)).map(([partition, offset]) =>
        offsetRow(name, partition, String(offset)),
      ),
    ),
  }
}

const written = (rows: Pair[]) => rows.filter(({ name, value }) => name.trim() || value.trim())

/** The options as they are to be; one that was not touched keeps its type. */
function optionsOf({ present, options }: ClusterDraft): Record<string, unknown> {
  const before = (present.options ?? {}) as Record<string, unknown>
  return Object.fromEntries(
    written(options).map(({ name, value }) => {
      const key = name.trim()
      return [key, String(before[key]) === value ? before[key] : value]
    }),
  )
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
const words = (text: string) => text.split(/[\s,]+/).filter(Boolean)

/** Whether a header of the events chooses the topic, out of those that are allowed. */
export const hasHeader = ({ present }: ClusterDraft) => typeof present.topic_header === 'string'
export const hasPattern = ({ present }: ClusterDraft) => typeof present.topics_pattern === 'string'

/** What a key that is not there stands for. */
const UNSET: Record<string, unknown> = { allowed_topics: [] }

/** Keys of the component that differ from now; what is left alone stays as it is. */
function moved(draft: ClusterDraft): Record<string, unknown> {
  const { present, servers, group, pattern, topic, allowed, prefix } = draft
  const wanted: Record<string, unknown> = isSink(draft)
    ? {
        topic: topic.trim(),
        ...(hasHeader(draft) && {
          allowed_topics: words(allowed),
          allowed_topic_prefix: prefix.trim() || null,
        }),
      }
    : { group_id: group.trim(), ...(hasPattern(draft) && { topics_pattern: pattern.trim() }) }
  const options = optionsOf(draft)
  return {
    bootstrap_servers: servers.trim(),
    ...(!same(options, present.options ?? {}) && { options }),
    ...Object.fromEntries(
      Object.entries(wanted).filter(([key, value]) => !same(value, present[key] ?? UNSET[key] ?? null)),
    ),
  }
}

function renamed({ topics }: ClusterDraft): Record<string, string> {
  const pairs = topics.map(({ name, value }) => [name.trim(), value.trim()] as const)
  return Object.fromEntries(pairs.filter(([name, there]) => name && there && name !== there))
}

function positionsOf({ by, syncs, on, offsets }: ClusterDraft) {
  if (by === 'mapping') return { by, topic: syncs.trim(), ...(on === 'new' && { on }) }
  if (by === 'timestamp') return { by }
  const found: Record<string, Record<string, number>> = {}
  for (const { topic, partition, offset } of filled(offsets))
    (found[topic.trim()] ??= {})[partition.trim()] = Number(offset)
  return { by, offsets: found }
}

export const filled = (rows: OffsetRow[]) =>
  rows.filter(({ topic, partition, offset }) => topic.trim() || partition.trim() || offset.trim())

/** The spec as REST takes it. */
export function clusterSpec(draft: ClusterDraft): MigrationSpec {
  const [group, name] = split(draft.path ?? '')
  const to = moved(draft)
  if (group === 'sinks') return { sink: name, to }
  const topics = renamed(draft)
  return {
    source: name,
    to,
    ...(Object.keys(topics).length > 0 && { topics }),
    positions: positionsOf(draft),
  }
}

/** The definition as it would be, for the server to check while it is written; empty before there is anything. */
export function asDefinition(definition: Definition, draft: ClusterDraft): string {
  if (draft.path === null || draft.servers.trim() === '') return ''
  const [group, name] = split(draft.path)
  const topics = renamed(draft)
  const component = {
    ...draft.present,
    ...moved(draft),
    ...(Array.isArray(draft.present.topics) && {
      topics: listOf(draft.present.topics).map((topic) => topics[topic] ?? topic),
    }),
  }
  const changed = { ...definition, [group]: { ...groupOf(definition, group), [name]: component } }
  return JSON.stringify(changed, null, 1)
}

const WHOLE = /^\d+$/
const whole = (text: string) => WHOLE.test(text.trim()) && Number.isSafeInteger(Number(text))

/** What has to be written before anything can be asked of the server; null where that is all there. */
export function clusterMissing(draft: ClusterDraft): string | null {
  if (draft.path === null) return 'Choose the source or sink to move first.'
  if (draft.servers.trim() === '') return 'Enter the bootstrap servers of the new cluster first.'
  const rows = written(draft.options)
  if (rows.some(({ name, value }) => !name.trim() || !value.trim()))
    return 'Enter the name and the value of every client option.'
  const names = rows.map(({ name }) => name.trim())
  if (new Set(names).size < names.length) return 'A client option is listed twice.'
  const hidden = rows.find(({ value }) => value === HIDDEN)
  if (hidden && 'options' in moved(draft))
    return `The value of ${hidden.name} is hidden. Enter it again as \${secret:NAME}.`
  return isSink(draft) ? null : positionsMissing(draft)
}

function positionsMissing({ by, syncs, offsets }: ClusterDraft): string | null {
  if (by === 'mapping' && syncs.trim() === '') return "Enter the topic of the mirror's offset syncs first."
  if (by !== 'given') return null
  const rows = filled(offsets)
  if (rows.length === 0) return 'Enter the offset of every partition first.'
  const wrong = rows.find(
    ({ topic, partition, offset }) => !topic.trim() || !whole(partition) || !whole(offset),
  )
  if (wrong) return 'Each partition needs a topic, a partition number and an offset. Both numbers are whole.'
  const places = rows.map(({ topic, partition }) => `${topic.trim()}/${Number(partition)}`)
  return new Set(places).size < places.length ? 'A partition is listed twice.' : null
}
