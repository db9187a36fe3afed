import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { ChannelFlow, ComponentTotals, Flow, LedgerBatch } from '@/api/types'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { FlowDetails } from './FlowDetails'
import { FlowGraph } from './FlowGraph'
import { FlowTable } from './FlowTable'
import { graphOf } from './graph'
import { drawn } from './layout'
import {
  componentWords,
  filterOf,
  flowSentence,
  INPUTS,
  keyOf,
  recordsOf,
  total,
  wayOf,
  waysOf,
  wayWords,
  type Outcome,
  type Way,
} from './ways'

const FIRST = 'sources.shop.interceptors[2]'
const LATER = 'sources.shop.interceptors[10]'
const NOTHING = { added: 0, routed_elsewhere: 0, filtered: 0, unrouted: 0, dead_lettered: 0 }

const part = (component: string, fields: Partial<ComponentTotals>): ComponentTotals => ({
  ...{ component, type: 'regex_filter', first_revision: 1, last_revision: 1, ...NOTHING },
  ...fields,
})

const channel = (fields: Partial<ChannelFlow>): ChannelFlow => ({
  ...{ source: 'shop', channel: 'lake', batches: 3, read: 0, delivered: 0, dropped_optional: 0, ...NOTHING },
  ...{ delivered_by: {}, components: [], not_by_component: {}, ...fields },
})

const flow = (...channels: ChannelFlow[]): Flow => ({
  since: '2026-11-22T10:00:00Z',
  until: '2026-11-22T10:15:00Z',
  channels,
})

const SHOP = flow(
  channel({
    ...{ read: 1_000, added: 20, delivered: 900, filtered: 100, unrouted: 5, dead_lettered: 15 },
    delivered_by: { lake: 700, spare: 200 },
    components: [
      part(LATER, { type: 'python', added: 20, dead_lettered: 12 }),
      part(FIRST, { filtered: 90 }),
      part('sinks.lake', { type: 'kafka', dead_lettered: 3 }),
      part('sources.shop.selector', { type: 'multiplexing', unrouted: 5 }),
    ],
    not_by_component: { filtered: 10 },
  }),
)

/** Numbers that look random and are the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** An answer of the server, whether or not its numbers fit together. */
function anyFlow(seed: number): Flow {
  const roll = dice(seed)
  const figure = () => (roll(3) === 0 ? 0 : roll(10 ** (1 + roll(7))))
  const counts = () => Object.fromEntries(Object.keys(NOTHING).map((name) => [name, figure()]))
  const some = <T,>(most: number, make: (index: number) => T) =>
    Array.from({ length: roll(most + 1) }, (_, n) => make(n))
  return flow(
    ...some(4, (number) => {
      const buffered = roll(3) === 0
      const own = buffered ? `channels.c${number}` : `s${roll(2)}`
      const read = figure()
      const paths = [
        `sources.${own}.interceptors[${roll(12)}]`,
        `sources.${own}.selector`,
        `sinks.o${roll(3)}`,
      ]
      const fits = roll(2) === 0
      return channel({
        ...{ source: own, channel: buffered ? `c${number}` : `c${roll(3)}-${number}`, read },
        ...(fits ? { delivered: read } : { ...counts(), delivered: figure(), dropped_optional: figure() }),
        delivered_by: Object.fromEntries(some(3, (sink) => [`o${sink}`, figure()])),
        components: some(6, () =>
          part(paths[roll(paths.length)] ?? '', { first_revision: 1 + roll(3), ...counts() }),
        ),
      })
    }),
  )
}

describe('what goes into a place goes out of it', () => {
  const seeds = Array.from({ length: 400 }, (_, seed) => seed)

  it('in the graph, whatever the server answers', () => {
    for (const seed of seeds) {
      const ways = waysOf(anyFlow(seed))
      const { places, segments } = graphOf(ways)
      const sum = (end: 'source' | 'target', id: string) =>
        segments.reduce((records, each) => records + (each[end] === id ? each.value : 0), 0)
      const of = (column: number) => places.filter((place) => place.column === column)
      for (const { id } of [...of(1), ...of(2)])
        expect(sum('target', id), `${seed}: ${id}`).toBe(sum('source', id))
      const inputs = of(0).reduce((records, { id }) => records + sum('source', id), 0)
      const outputs = of(3).reduce((records, { id }) => records + sum('target', id), 0)
      expect(outputs, `${seed}`).toBe(inputs)
      expect(segments.every(({ value }) => value > 0)).toBe(true)
      expect(new Set(ways.map(keyOf)).size).toBe(ways.length)
    }
  })

  it('in the drawing, to one scale', () => {
    for (const seed of seeds.slice(0, 100)) {
      const { boxes, ribbons } = drawn(graphOf(waysOf(anyFlow(seed))), 900)
      const scales = boxes.map(({ height, records }) => height / records)
      for (const scale of scales) expect(scale).toBeCloseTo(scales[0] ?? 0, 9)
      const parts = ribbons.flatMap(({ way, parts: all }) => all.map(({ width }) => width / way.records))
      for (const scale of parts) expect(scale).toBeCloseTo(scales[0] ?? 0, 9)
    }
  })

  it('and a ledger that balances has nothing that is unaccounted for', () => {
    const ways = waysOf(SHOP)
    expect(ways.map(({ outcome }) => outcome)).not.toContain('unaccounted')
    expect(total(ways.filter(({ outcome }) => INPUTS.has(outcome)))).toBe(1_020)
    expect(flowSentence(ways)).toBe(
      '1,000 read, 20 added: 900 delivered, 100 filtered, 5 unrouted, 15 dead-lettered.',
    )
  })

  it('and one that does not says by how much', () => {
    const outcomes = (fields: Partial<ChannelFlow>) =>
      waysOf(flow(channel(fields))).map(({ outcome, records }) => [outcome, records])
    expect(outcomes({ read: 10, delivered: 7 })).toEqual([
      ['read', 10],
      ['delivered', 7],
      ['unaccounted', 3],
    ])
    expect(outcomes({ read: 10, delivered: 12 })).toContainEqual(['excess', 2])
    expect(outcomes({})).toEqual([])
  })
})

describe('the ways of records', () => {
  const found = (outcome: Outcome) =>
    waysOf(SHOP)
      .filter((way) => way.outcome === outcome)
      .map(({ component, records }) => [component, records])

  it('are told apart by the component that decided', () => {
    expect(found('delivered')).toEqual([
      ['sinks.lake', 700],
      ['sinks.spare', 200],
    ])
    expect(found('filtered')).toEqual([
      [FIRST, 90],
      ['', 10],
    ])
    expect(found('dead_lettered')).toEqual([
      ['sinks.lake', 3],
      [LATER, 12],
    ])
    expect(found('added')).toEqual([[LATER, 20]])
  })

  it('are one for a path, whatever revisions have put there', () => {
    const components = [
      part(FIRST, { filtered: 3 }),
      part(FIRST, { type: 'python', first_revision: 2, last_revision: 2, filtered: 4 }),
    ]
    const [, way] = waysOf(flow(channel({ read: 7, filtered: 7, components })))
    expect(way).toMatchObject({ component: FIRST, records: 7 })
    expect(wayWords(way as Way)).toBe('Filtered by regex_filter, python interceptors[2]')
  })

  it('lead into the store of a channel that keeps one', () => {
    const into = channel({ read: 5, delivered: 5, delivered_by: { lake: 5 } })
    const out = channel({ source: 'channels.lake', read: 4, delivered: 4, delivered_by: { lake: 4 } })
    const components = waysOf(flow(into, out)).map(({ component }) => component)
    expect(components).toEqual(['sources.shop', 'channels.lake', 'channels.lake', 'sinks.lake'])
  })

  it('have a name in the address, also where this time has none', () => {
    const ways = waysOf(SHOP)
    for (const way of ways) expect(wayOf(ways, keyOf(way))).toBe(way)
    expect(wayOf([], keyOf(ways[0] as Way))).toMatchObject({ source: 'shop', outcome: 'read', records: 0 })
    expect(wayOf(ways, 'shop/lake/eaten/')).toBeNull()
    expect(wayOf(ways, 'shop')).toBeNull()
  })

  it('are called what their components are called', () => {
    const words = (component: string, ...types: string[]) => componentWords({ component, types })
    expect(words('sources.shop.selector', 'multiplexing')).toBe('multiplexing selector')
    expect(words('sinks.lake')).toBe('lake sink')
    expect(words('sources.shop')).toBe('shop source')
    expect(words('quarantine')).toBe('quarantine')
    expect(words('')).toBe('Component not recorded')
  })

  it('ask for their batches, and count what is theirs of one', () => {
    const way = (outcome: Outcome, component: string): Way => ({
      ...{ source: 'shop', channel: 'lake', outcome, component, types: [], records: 1 },
    })
    const own = { source: 'shop', channel: 'lake', minutes: 15 }
    expect(filterOf(way('filtered', FIRST), 15)).toEqual({ ...own, outcome: 'filtered', component: FIRST })
    expect(filterOf(way('dropped_optional', 'channels.lake'), 15)).toEqual({
      ...own,
      outcome: 'dropped_optional',
    })
    expect(filterOf(way('unaccounted', ''), 15)).toEqual(own)
    const counted = { ...NOTHING, read: 10, filtered: 6, delivered: 3, dropped_optional: 0 }
    const batch = {
      ...counted,
      sink: 'lake',
      components: { [FIRST]: { filtered: 4 } },
    } as unknown as LedgerBatch
    expect(recordsOf(batch, way('filtered', FIRST))).toBe(4)
    expect(recordsOf(batch, way('filtered', ''))).toBe(2)
    expect(recordsOf(batch, way('delivered', 'sinks.lake'))).toBe(3)
    expect(recordsOf(batch, way('delivered', ''))).toBe(0)
    expect(recordsOf(batch, way('unaccounted', ''))).toBe(1)
    expect(recordsOf(batch, way('excess', ''))).toBe(0)
  })
})

describe('a flow is chosen', () => {
  const KEY = `shop/lake/filtered/${FIRST}`
  const NAME = 'Filtered by regex_filter interceptors[2], shop to lake: 90 records (8.8 %)'

  it('in the graph, by keyboard', async () => {
    const select = vi.fn<(key: string) => void>()
    showRouted(<FlowGraph ways={waysOf(SHOP)} selected={undefined} onSelect={select} />)
    const ribbon = await screen.findByRole('button', { name: NAME })
    ribbon.focus()
    await userEvent.keyboard('{Enter}')
    await userEvent.keyboard(' ')
    await userEvent.click(ribbon)
    expect(select.mock.calls).toEqual([[KEY], [KEY], [KEY]])
    expect(screen.getAllByRole('button')).toHaveLength(waysOf(SHOP).length)
  })

  it('in the table, which has every number of the graph', async () => {
    const select = vi.fn<(key: string) => void>()
    showRouted(<FlowTable ways={waysOf(SHOP)} onSelect={select} />)
    const button = await screen.findByRole('button', { name: 'Filtered by regex_filter interceptors[2]' })
    expect(button).toHaveTextContent('Filtered')
    await userEvent.click(button)
    expect(select).toHaveBeenCalledWith(KEY)
    expect(screen.getByRole('row', { name: 'Delivered 200 19.6 % spare sink shop to lake' })).toBeVisible()
  })

  it('and shows its batches, each with the trace of its first record', async () => {
    const asked: URL[] = []
    const batch = (id: number, filtered: number, topic: string) => ({
      ...{
        id,
        run: 4,
        first_batch: id,
        last_batch: id,
        sink: 'lake',
        ...NOTHING,
        read: 50,
        filtered,
        delivered: 50,
      },
      ...{ components: { [FIRST]: { filtered } }, done_at: SHOP.until },
      ranges: [{ topic, partition: 3, start: 120, end: 170 }],
    })
    given.get('/pipelines/orders/ledger', ({ url }) => {
      asked.push(new URL(url))
      return { results: [batch(8, 60, 'orders-in'), batch(7, 30, '/var/log/a b.log')], next: null }
    })
    const way = wayOf(waysOf(SHOP), KEY) as Way
    showRouted(<FlowDetails name="orders" way={way} share={0.088} minutes={60} onClose={() => {}} />)
    const batches = await screen.findByRole('group', { name: 'Batches of this flow' })
    expect(within(batches).getByRole('row', { name: /^8 4 60 50/ })).toBeVisible()
    expect(within(batches).getByRole('link')).toHaveAttribute(
      'href',
      '/pipelines/orders/trace?at=orders-in%2F3%3A120',
    )
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toMatchObject({
      ...{ source: 'shop', channel: 'lake', outcome: 'filtered', component: FIRST, minutes: '60' },
    })
  })

  it('and leads to the dead letters of its component', async () => {
    given.get('/pipelines/orders/ledger', () => ({ results: [], next: null }))
    const way = wayOf(waysOf(SHOP), 'shop/lake/dead_lettered/sinks.lake') as Way
    showRouted(<FlowDetails name="orders" way={way} share={0.003} minutes={60} onClose={() => {}} />)
    expect(await screen.findByRole('link', { name: 'Dead letters of this component' })).toHaveAttribute(
      'href',
      '/pipelines/orders/dead-letters?component=sinks.lake',
    )
    expect(await screen.findByText('No batch of this time has such records')).toBeVisible()
  })
})
