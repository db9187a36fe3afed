import type { PipelineStatus, QueryStatus, SinkGroup, Topology, TopologyNode } from '@/api/types'
import type { Tone } from '@/domain/phases'
import { count, plural } from '@/lib/format'
import { activeWords, nextAttempt } from '../sinkGroups'

/** What a component is doing, where that is not simply its work. */
export interface NodeState {
  tone: Tone
  word: string
  /** In whole sentences, for the details. */
  cause: string
}

export interface NodeView {
  node: TopologyNode
  state: NodeState | null
}

/** What of the status the states come from: frames that change figures alone leave it as it is. */
export interface Facts {
  components: PipelineStatus['components']
  conditions: PipelineStatus['conditions']
  queries: Pick<QueryStatus, 'group' | 'holding' | 'checking'>[]
  run: { stuck: string[] } | null
}

export function factsOf({ components, conditions, queries, run }: PipelineStatus): Facts {
  const own = queries.map((query) => ({
    group: query.group,
    holding: query.holding,
    checking: query.checking,
  }))
  return { components, conditions, queries: own, run: run && { stuck: run.stuck } }
}

/** Every component with its state: the first that applies, the most urgent first. Agents report what holds a batch as
 * failed, too; that it holds one says more. */
export function nodeViews(topology: Topology, status: Facts | undefined, now: number): NodeView[] {
  return topology.nodes.map((node) => ({ node, state: status ? stateOf(node, status, now) : null }))
}

function stateOf(node: TopologyNode, status: Facts, now: number): NodeState | null {
  return (
    holding(node, status) ??
    failed(node, status) ??
    stuck(node, status) ??
    unusual(node, status) ??
    inGroup(node, status, now) ??
    working(node, status)
  )
}

function failed({ path }: TopologyNode, { components }: Facts): NodeState | null {
  const found = components.find(({ name, state }) => name === path && state === 'failed')
  return found ? { tone: 'bad', word: 'failed', cause: found.detail } : null
}

function holding({ path }: TopologyNode, { queries }: Facts): NodeState | null {
  const held = queries.find((query) => query.holding?.component === path)?.holding
  if (!held) return null
  return { tone: 'bad', word: 'holds a batch', cause: `${plural(held.attempts, 'attempt')}: ${held.cause}` }
}

/** What was at work when a stop had to interrupt it. */
function stuck({ path }: TopologyNode, { run }: Facts): NodeState | null {
  if (!run?.stuck.includes(path)) return null
  return { tone: 'warn', word: 'does not stop', cause: 'It was at work when the stop interrupted the agent.' }
}

function unusual({ path }: TopologyNode, { conditions }: Facts): NodeState | null {
  const output = conditions.find(({ type }) => type === 'Output')
  if (output?.status !== 'False' || !names(output.message, path)) return null
  return { tone: 'warn', word: 'takes the records', cause: output.message }
}

/** Whether a sentence names this path, and not only one that begins like it. */
export function names(sentence: string, path: string): boolean {
  const after = sentence.split(path).slice(1)
  return after.some((rest) => !/^(\w|\[|\.\w)/.test(rest))
}

function inGroup(node: TopologyNode, { queries }: Facts, now: number): NodeState | null {
  if (node.kind !== 'sink') return null
  for (const { group } of queries) {
    const found = group && inThisGroup(node.name, group, now)
    if (found) return found
  }
  return null
}

function inThisGroup(sink: string, group: SinkGroup, now: number): NodeState | null {
  const failure = group.failed.find((each) => each.sink === sink)
  if (failure) {
    return {
      tone: 'bad',
      word: `failed, ${nextAttempt(failure.until, now)}`,
      cause: `Failed ${plural(failure.failures, 'time')} in a row. ${failure.cause}`,
    }
  }
  if (!group.live.includes(sink)) return null
  return sink === group.active
    ? { tone: 'ok', word: activeWords(group.processor), cause: '' }
    : { tone: 'idle', word: 'live', cause: 'The group may send batches here.' }
}

function working({ path }: TopologyNode, { components, queries }: Facts): NodeState | null {
  const checking = queries.find((query) => query.checking?.sink === path)?.checking
  if (checking) {
    const cause = `Read for an unfinished batch: ${count(checking.looked_at)} of ${plural(checking.records, 'record')}.`
    return { tone: 'busy', word: 'checking', cause }
  }
  const found = components.find(({ name }) => name === path)
  return found?.state === 'initialising'
    ? { tone: 'busy', word: 'initializing', cause: found.detail || 'Preflight initializes it.' }
    : null
}

/** What a component took out of the stream or put in, each with its share of what it received. */
export function taken(node: TopologyNode): { word: string; records: number; share: number | null }[] {
  const parts: [string, number][] = [
    ['filtered', node.filtered],
    ['dead-lettered', node.dead_lettered],
    ['unrouted', node.unrouted],
    ['dropped', node.dropped],
    ['added', node.added],
  ]
  return parts
    .filter(([, records]) => records > 0)
    .map(([word, records]) => ({ word, records, share: node.received > 0 ? records / node.received : null }))
}

/** The time that the figures are of, in seconds. */
export function seconds({ since, until }: Pick<Topology, 'since' | 'until'>): number {
  return Math.max(1, (Date.parse(until) - Date.parse(since)) / 1_000)
}

/** Whether a place in a definition lies in this component, and in none inside it. */
export function liesIn(place: string, path: string, paths: readonly string[]): boolean {
  const inside = (each: string) =>
    place === each || place.startsWith(`${each}.`) || place.startsWith(`${each}[`)
  return inside(path) && !paths.some((each) => each.length > path.length && inside(each))
}

/** What a definition says of the component at a path, without the components inside it. */
export function configuration(definition: Record<string, unknown>, path: string): Record<string, unknown> {
  let found: unknown = definition
  for (const step of path.match(/[^.[\]]+/g) ?? [])
    found = found && typeof found === 'object' ? (found as Record<string, unknown>)[step] : undefined
  if (!found || typeof found !== 'object') return {}
  const { interceptors: _, selector: __, ...own } = found as Record<string, unknown>
  return own
}
