import type { BatchFilter } from '@/api/ledger'
import type { ChannelFlow, Flow, LedgerBatch } from '@/api/types'
import type { Tone } from '@/domain/phases'
import { count, percent, plural } from '@/lib/format'

type Cause = 'routed_elsewhere' | 'filtered' | 'unrouted' | 'dead_lettered'
type Counter = 'read' | 'added' | 'delivered' | 'dropped_optional' | Cause
/** What a ledger that does not balance lacks: outcomes of records, or records of outcomes. */
type Fault = 'unaccounted' | 'excess'
/** What became of records, or where they come from. */
export type Outcome = Counter | Fault

/** Records of one (source, channel) of which one component decided the same. */
export interface Way {
  source: string
  channel: string
  outcome: Outcome
  /** Its path in the definition; empty where it was not recorded. */
  component: string
  /** What it is; several where revisions have put another there. */
  types: string[]
  records: number
}

const CAUSES = ['routed_elsewhere', 'filtered', 'unrouted', 'dead_lettered'] as const
const STORE = 'channels.'
const byPath = new Intl.Collator('en', { numeric: true })

/** Where records come from: left of their channel. */
export const INPUTS: ReadonlySet<Outcome> = new Set<Outcome>(['read', 'added', 'excess'])

export const OUTCOMES: Record<Outcome, { word: string; tone: Tone }> = {
  read: { word: 'Read', tone: 'busy' },
  added: { word: 'Added', tone: 'busy' },
  excess: { word: 'More than was read', tone: 'bad' },
  delivered: { word: 'Delivered', tone: 'ok' },
  routed_elsewhere: { word: 'Routed elsewhere', tone: 'held' },
  filtered: { word: 'Filtered', tone: 'idle' },
  unrouted: { word: 'Unrouted', tone: 'warn' },
  dead_lettered: { word: 'Dead-lettered', tone: 'warn' },
  dropped_optional: { word: 'Dropped', tone: 'warn' },
  unaccounted: { word: 'Unaccounted for', tone: 'bad' },
}

/** From top to bottom. */
export const ORDER = Object.keys(OUTCOMES) as Outcome[]

/** Every way that records took, in an order that stays while the figures change. What goes into a channel is what comes
 * out of it, whatever the server answers: records without an outcome, and outcomes without a record, are ways of their
 * own. */
export function waysOf(flow: Flow): Way[] {
  const stores = new Set(
    flow.channels.map(({ source }) => source).filter((source) => source.startsWith(STORE)),
  )
  const ways = flow.channels.flatMap((channel) => balanced(decided(channel, stores)))
  return ways.toSorted((one, other) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome))
}

function decided(flow: ChannelFlow, stores: ReadonlySet<string>): Way[] {
  const { source, channel, delivered_by: sinks } = flow
  const way = (outcome: Outcome, component: string, records: number): Way => {
    return { source, channel, outcome, component, types: typesOf(flow, component), records }
  }
  const store = source.startsWith(STORE) ? '' : `${STORE}${channel}`
  const paths = [...new Set(flow.components.map(({ component }) => component))].toSorted(byPath.compare)
  const parts = (outcome: 'added' | Cause): Way[] => {
    const found = paths.map((path) => way(outcome, path, partOf(flow, path, outcome)))
    return [...found, way(outcome, '', flow[outcome] - total(found))]
  }
  const delivered = Object.entries(sinks).map(([sink, records]) =>
    way('delivered', sink === channel && stores.has(store) ? store : `sinks.${sink}`, records),
  )
  return [
    way('read', source.startsWith(STORE) ? source : `sources.${source}`, flow.read),
    ...parts('added'),
    ...delivered,
    way('delivered', '', flow.delivered - total(delivered)),
    ...CAUSES.flatMap(parts),
    way('dropped_optional', `${STORE}${channel}`, flow.dropped_optional),
  ].filter(({ records }) => records > 0)
}

function balanced(ways: Way[]): Way[] {
  const [first] = ways
  if (!first) return []
  const missing = ways.reduce(
    (sum, { outcome, records }) => sum + (INPUTS.has(outcome) ? records : -records),
    0,
  )
  if (missing === 0) return ways
  const outcome = missing > 0 ? 'unaccounted' : 'excess'
  return [...ways, { ...first, outcome, component: '', types: [], records: Math.abs(missing) }]
}

function partOf({ components }: ChannelFlow, path: string, outcome: 'added' | Cause): number {
  return components.reduce((sum, each) => sum + (each.component === path ? each[outcome] : 0), 0)
}

function typesOf({ components }: ChannelFlow, path: string): string[] {
  const own = components.filter(({ component, type }) => component === path && type !== '')
  return [...new Set(own.map(({ type }) => type))]
}

export function total(ways: Way[]): number {
  return ways.reduce((sum, { records }) => sum + records, 0)
}

export function isFault(outcome: Outcome): outcome is Fault {
  return outcome === 'unaccounted' || outcome === 'excess'
}

/** Names a way in an address. */
export function keyOf({ source, channel, outcome, component }: Way): string {
  return [source, channel, outcome, component].join('/')
}

/** The way of this name; without records where the time has none. Null where it is no name of a way. */
export function wayOf(ways: Way[], key: string): Way | null {
  const found = ways.find((way) => keyOf(way) === key)
  if (found) return found
  const [source, channel, outcome, component] = key.split('/')
  if (!source || !channel || !outcome || component === undefined || !(outcome in OUTCOMES)) return null
  return { source, channel, outcome: outcome as Outcome, component, types: [], records: 0 }
}

/** What a component is called: interceptors and selectors have no name but their type. */
export function componentWords({ component, types }: Pick<Way, 'component' | 'types'>): string {
  if (component === '') return 'Component not recorded'
  const [kind = '', ...rest] = component.split('.')
  const name = rest.join('.')
  const inSource = /\.(interceptors\[\d+\]|selector)$/.exec(component)?.[1]
  if (inSource) return types.length > 0 ? `${types.join(', ')} ${inSource}` : inSource
  if (kind === 'sinks') return `${name} sink`
  if (kind === 'channels') return `${name} channel`
  return kind === 'sources' ? `${name} source` : component
}

/** The way in words: "Filtered by regex_filter interceptors[0]". */
export function wayWords(way: Way): string {
  const { word } = OUTCOMES[way.outcome]
  if (isFault(way.outcome)) return word
  const link = way.outcome === 'read' ? 'from' : 'by'
  return way.component === '' ? `${word}, component not recorded` : `${word} ${link} ${componentWords(way)}`
}

/** Which batches a way is the sum of, as the API takes it. */
export function filterOf(way: Way, minutes: number): BatchFilter {
  const { source, channel, outcome, component } = way
  const own = { source, channel, minutes }
  if (isFault(outcome)) return own
  const decides = outcome !== 'read' && outcome !== 'dropped_optional' && component !== ''
  return decides ? { ...own, outcome, component } : { ...own, outcome }
}

/** How many records of a batch took a way. */
export function recordsOf(batch: LedgerBatch, { outcome, component }: Way): number {
  if (outcome === 'unaccounted') return Math.max(0, differenceOf(batch))
  if (outcome === 'excess') return Math.max(0, -differenceOf(batch))
  if (outcome === 'delivered') return component === '' && batch.sink !== '' ? 0 : batch.delivered
  if (outcome === 'read' || outcome === 'dropped_optional') return batch[outcome]
  const parts = batch.components ?? {}
  if (component !== '') return parts[component]?.[outcome] ?? 0
  return Object.values(parts).reduce((rest, part) => rest - (part[outcome] ?? 0), batch[outcome])
}

function differenceOf(batch: LedgerBatch): number {
  const verdicts = [batch.delivered, batch.dropped_optional, ...CAUSES.map((cause) => batch[cause])]
  return verdicts.reduce((rest, records) => rest - records, batch.read + batch.added)
}

/** The share of each way in all that came into its channel; null for what comes in. */
export function sharesOf(ways: Way[]): (way: Way) => number | null {
  const sums = new Map<string, number>()
  for (const { source, channel, outcome, records } of ways)
    if (INPUTS.has(outcome))
      sums.set(`${source} ${channel}`, records + (sums.get(`${source} ${channel}`) ?? 0))
  return ({ source, channel, outcome, records }) => {
    const sum = sums.get(`${source} ${channel}`)
    return INPUTS.has(outcome) || !sum ? null : records / sum
  }
}

/** "4.2 %", and not zero where it is not. */
export function shareWords(share: number | null): string {
  return share !== null && share > 0 && share < 0.001 ? '< 0.1 %' : percent(share)
}

/** All of a way in one sentence. */
export function flowWords(way: Way, share: number | null): string {
  const part = share === null ? '' : ` (${shareWords(share)})`
  return `${wayWords(way)}, ${way.source} to ${way.channel}: ${plural(way.records, 'record')}${part}`
}

/** The sums of all ways by outcome: "1,000 read, 3 added: 990 delivered, 13 filtered." */
export function flowSentence(ways: Way[]): string {
  const sums = (input: boolean) =>
    ORDER.filter((outcome) => INPUTS.has(outcome) === input)
      .map((outcome) => ({ outcome, records: total(ways.filter((way) => way.outcome === outcome)) }))
      .filter(({ records }) => records > 0)
      .map(({ outcome, records }) => `${count(records)} ${OUTCOMES[outcome].word.toLowerCase()}`)
      .join(', ')
  return `${sums(true)}: ${sums(false)}.`
}
