import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { QueryStatus, Topology, TopologyNode } from '@/api/types'
import { alert, detail, finding, session, status } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { places } from './layout'
import { NodeDetails } from './NodeDetails'
import { configuration, liesIn, nodeViews, taken } from './nodes'
import { TopologyTree } from './TopologyTree'

const NOW = Date.parse('2026-11-22T10:01:00Z')
const FIRST = 'sources.shop.interceptors[1]'
const LATER = 'sources.shop.interceptors[10]'

const node = (
  path: string,
  kind: TopologyNode['kind'],
  fields: Partial<TopologyNode> = {},
): TopologyNode => ({
  ...{ path, kind, name: path.split('.').at(-1) ?? path, type: 'kafka' },
  ...{ received: 0, added: 0, filtered: 0, unrouted: 0, dead_lettered: 0, dropped: 0, passed: 0 },
  ...fields,
})

const TOPOLOGY: Topology = {
  revision: 2,
  since: '2026-11-22T10:00:00Z',
  until: '2026-11-22T10:01:00Z',
  nodes: [
    node('sources.shop', 'source', { received: 6_000, passed: 6_000 }),
    node(FIRST, 'interceptor', { type: 'regex_filter', received: 6_000, filtered: 3_000, passed: 3_000 }),
    node(LATER, 'interceptor', { type: 'static', received: 3_000, passed: 3_000 }),
    node('channels.lake', 'channel', { type: 'direct', received: 3_000, passed: 3_000 }),
    node('sinks.lake', 'sink', { received: 3_000, dead_lettered: 60, passed: 2_940 }),
    node('sinks.spare', 'sink'),
  ],
  edges: [
    { origin: 'sources.shop', target: FIRST, records: 6_000 },
    { origin: FIRST, target: LATER, records: 3_000 },
    { origin: LATER, target: 'channels.lake', records: 3_000 },
    { origin: 'channels.lake', target: 'sinks.lake', records: 3_000 },
    { origin: 'channels.lake', target: 'sinks.spare', records: 0 },
  ],
}

const query = (fields: Partial<QueryStatus>): QueryStatus => ({
  ...{ source: 'shop', channel: 'lake', batch: 1, in_flight: false, positions: [], records_per_second: 0 },
  ...{ delivered: 0, last_batch_at: null, holding: null, guarantee: null, checking: null, group: null },
  ...fields,
})

const stateOf = (path: string, fields: Parameters<typeof status>[0]) =>
  nodeViews(TOPOLOGY, status(fields), NOW).find((view) => view.node.path === path)?.state

describe('the state of a component', () => {
  it('is nothing to speak of while it works', () => {
    expect(nodeViews(TOPOLOGY, status(), NOW).every(({ state }) => state === null)).toBe(true)
    expect(nodeViews(TOPOLOGY, undefined, NOW).every(({ state }) => state === null)).toBe(true)
  })

  it('says what failed when it was initialized', () => {
    const failed = {
      name: FIRST,
      kind: 'interceptor',
      type: 'python',
      state: 'failed',
      detail: 'No module acme.',
    }
    expect(stateOf(FIRST, { components: [failed] })).toMatchObject({ tone: 'bad', cause: 'No module acme.' })
    expect(stateOf('sinks.lake', { components: [failed] })).toBeNull()
  })

  it('says what holds a batch, and how often it was tried', () => {
    const holding = { component: 'sinks.lake', cause: 'refused', attempts: 3, since: TOPOLOGY.since }
    const state = stateOf('sinks.lake', { queries: [query({ holding })] })
    expect(state).toMatchObject({ tone: 'bad', word: 'holds a batch', cause: '3 attempts: refused' })
  })

  it('says so although the agent reports what holds a batch as failed', () => {
    const holding = { component: 'sinks.lake', cause: 'refused', attempts: 3, since: TOPOLOGY.since }
    const components = [
      { name: 'sinks.lake', kind: 'sink', type: 'kafka', state: 'failed', detail: 'refused' },
    ]
    expect(stateOf('sinks.lake', { components, queries: [query({ holding })] })?.word).toBe('holds a batch')
  })

  it('marks the component that takes the records, and none whose path begins like it', () => {
    const message = `${LATER} filtered 300,000 of 300,000 records.`
    const output = {
      type: 'Output',
      status: 'False',
      reason: 'x',
      message,
      last_transition_time: TOPOLOGY.since,
    }
    const conditions = [output] as never
    expect(stateOf(LATER, { conditions })).toMatchObject({ tone: 'warn', word: 'takes the records' })
    expect(stateOf(FIRST, { conditions })).toBeNull()
    expect(stateOf('sources.shop', { conditions })).toBeNull()
  })

  it('shows the pools of a sink group with the remaining penalty', () => {
    const failed = [{ sink: 'lake', failures: 2, until: '2026-11-22T10:01:08Z', cause: 'timeout' }]
    const group = { name: 'pool', processor: 'failover', active: 'spare', live: ['spare'], failed }
    const queries = [query({ group })]
    expect(stateOf('sinks.lake', { queries })?.word).toBe('failed, next attempt in 8.0 s')
    expect(stateOf('sinks.spare', { queries })?.word).toBe('active')
    const balanced = [query({ group: { ...group, processor: 'load_balance' } })]
    expect(stateOf('sinks.spare', { queries: balanced })?.word).toBe('took the last batch')
  })

  it('shows what was at work when a stop had to interrupt it', () => {
    const run = { stuck: [FIRST] } as never
    expect(stateOf(FIRST, { run })?.word).toBe('does not stop')
  })
})

it('every loss has its share of what the component received', () => {
  expect(taken(TOPOLOGY.nodes[1]!)).toEqual([{ word: 'filtered', records: 3_000, share: 0.5 }])
  expect(taken(node('sinks.x', 'sink', { dead_lettered: 2 }))[0]?.share).toBeNull()
})

it('a configuration is of the component alone', () => {
  const definition = {
    sources: {
      shop: { type: 'kafka', topics: ['a'], selector: {}, interceptors: [{ type: 'uuid' }, { regex: 'x' }] },
    },
  }
  expect(configuration(definition, 'sources.shop')).toEqual({ type: 'kafka', topics: ['a'] })
  expect(configuration(definition, FIRST)).toEqual({ regex: 'x' })
  expect(configuration(definition, 'sinks.gone')).toEqual({})
})

it('the graph goes from left to right, and no two nodes lie on each other', () => {
  const at = places(TOPOLOGY)
  for (const { origin, target } of TOPOLOGY.edges) expect(at.get(origin)!.x).toBeLessThan(at.get(target)!.x)
  const seen = new Set([...at.values()].map(({ x, y }) => `${x} ${y}`))
  expect(seen.size).toBe(TOPOLOGY.nodes.length)
})

it('the tree has every component with its figures, and a click shows one', async () => {
  const select = vi.fn<(path: string) => void>()
  showRouted(
    <TopologyTree topology={TOPOLOGY} views={nodeViews(TOPOLOGY, undefined, NOW)} onSelect={select} />,
  )
  const tree = await screen.findByRole('group', { name: 'Components' })
  const filter = within(tree).getByRole('button', { name: /^regex_filter interceptors\[1\]/ })
  expect(filter).toHaveTextContent('receives 100/s')
  expect(filter).toHaveTextContent('filtered 50/s (50%)')
  expect(within(tree).getByRole('button', { name: /^lake kafka sink/ })).toHaveTextContent('delivers 49/s')
  await userEvent.click(filter)
  expect(select).toHaveBeenCalledWith(FIRST)
})

it('the details say what became of the events, how it is configured, and where to look next', async () => {
  const view = nodeViews(TOPOLOGY, undefined, NOW)[4]!
  const definition = { sinks: { lake: { type: 'kafka', topic: 'orders.clean' } } }
  showRouted(
    <NodeDetails name="orders" view={view} topology={TOPOLOGY} definition={definition} onClose={() => {}} />,
  )
  const events = await screen.findByRole('group', { name: 'What became of the events' })
  expect(within(events).getByRole('row', { name: 'Delivered 2,940 49' })).toBeVisible()
  expect(within(events).getByRole('row', { name: 'Dead-lettered 60 1.0' })).toBeVisible()
  expect(screen.getByRole('row', { name: 'topic orders.clean' })).toBeVisible()
  expect(screen.getByRole('link', { name: 'Records of its topic' })).toHaveAttribute(
    'href',
    '/pipelines/orders/records?of=sinks.lake',
  )
  const sample = within(screen.getByRole('region', { name: 'Newest records of its topic' }))
  expect(sample.getByText(/^The newest records of the topic orders.clean/)).toBeVisible()
  expect(sample.getByRole('button', { name: 'Show a sample' })).toBeVisible()
  expect(screen.getByRole('link', { name: 'Dead letters of this component' })).toHaveAttribute(
    'href',
    '/pipelines/orders/dead-letters?component=sinks.lake',
  )
})

it('knows in which component a place of the definition lies', () => {
  const paths = TOPOLOGY.nodes.map(({ path }) => path)
  const holder = (place: string) => paths.filter((path) => liesIn(place, path, paths))
  expect(holder('sources.shop.topics[0]')).toEqual(['sources.shop'])
  expect(holder(`${FIRST}.regex`)).toEqual([FIRST])
  expect(holder(LATER)).toEqual([LATER])
  expect(holder('sinks.lake')).toEqual(['sinks.lake'])
  expect(holder('sinks.lakeside')).toEqual([])
})

describe('the findings of a component', () => {
  const shown = (path: string) =>
    showRouted(
      <NodeDetails
        name="orders"
        view={nodeViews(TOPOLOGY, undefined, NOW).find((each) => each.node.path === path)!}
        topology={TOPOLOGY}
        definition={{}}
        onClose={() => {}}
      />,
    )
  beforeEach(() => {
    const conditions = [
      {
        type: 'Output',
        status: 'False',
        reason: '',
        message: `${FIRST} filtered all.`,
        last_transition_time: TOPOLOGY.since,
      },
    ] as never
    const validation = {
      valid: true,
      findings: [finding({ path: `${FIRST}.regex`, message: 'It matches everything.' })],
      guarantees: [],
    }
    given.get('/session', () => session())
    given.get('/pipelines/orders', () => detail())
    given.get('/pipelines/orders/status', () =>
      status({ conditions, findings: [finding({ path: 'sinks.lake', message: 'It has no topic.' })] }),
    )
    given.post('/pipelines/validate', () => validation)
    given.get('/alerts', () => ({
      results: [
        alert({ message: 'The sink sinks.lake refuses.' }),
        alert({ id: 18, message: 'Lag.', rule: 'lag' }),
      ],
      next: null,
    }))
  })

  it('are those of its part of the definition, and the conditions that name it', async () => {
    shown(FIRST)
    const part = within(await screen.findByRole('region', { name: 'Findings of this component' }))
    expect(await part.findByText('It matches everything.')).toBeVisible()
    expect(await part.findByText(`${FIRST} filtered all.`)).toBeVisible()
    expect(part.queryByText('It has no topic.')).toBeNull()
    expect(part.queryByText(/refuses/)).toBeNull()
  })

  it('are what the agent reports, and the alerts that name it', async () => {
    shown('sinks.lake')
    const part = within(await screen.findByRole('region', { name: 'Findings of this component' }))
    expect(await part.findByText('It has no topic.')).toBeVisible()
    expect(await part.findByText(/The sink sinks.lake refuses/)).toBeVisible()
    expect(part.getByRole('link', { name: 'Open alert' })).toHaveAttribute(
      'href',
      '/alerts?pipeline=orders&rule=blocked',
    )
    expect(part.queryByText(/^Lag/)).toBeNull()
  })

  it('are none only where all of it was read', async () => {
    given.get('/alerts', () => problem(500, 'boom', 'The server failed.'))
    shown('sources.shop')
    expect(await screen.findByText(/The alerts could not be read/)).toBeVisible()
    expect(screen.queryByText(/^No findings/)).toBeNull()
    given.get('/alerts', () => ({ results: [], next: null }))
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
    expect(await screen.findByText(/^No findings/)).toBeVisible()
  })
})

it('shows a sample of what a filter takes out', async () => {
  const asked = vi.fn()
  const peek = {
    ...{ id: 'p-1', pipeline: 'orders', state: 'PENDING', error: null, result: null, requested_by: 'ana' },
    question: { of: FIRST, limit: 10 },
  }
  const record = {
    ...{
      topic: 'orders-in',
      partition: 0,
      offset: 9,
      timestamp: null,
      outcome: 'filtered',
      component: FIRST,
    },
    event: { key: null, headers: [], bytes: 7, body: '9 DEBUG', note: '' },
  }
  const result = {
    ...{ topic: 'orders-in', records: [record], partitions: [], searched: 1_000, more: false, notes: [] },
  }
  given.get('/session', () => session())
  given.post('/pipelines/orders/peeks', async (request) => {
    asked(await request.json())
    return peek
  })
  given.get('/pipelines/orders/peeks/p-1', () => ({ ...peek, state: 'DONE', result }))
  const view = nodeViews(TOPOLOGY, undefined, NOW)[1]!
  showRouted(<NodeDetails name="orders" view={view} topology={TOPOLOGY} definition={{}} onClose={() => {}} />)
  await userEvent.click(await screen.findByRole('button', { name: 'Show a sample' }))
  expect(await screen.findByText('9 DEBUG')).toBeInTheDocument()
  expect(screen.getByText('1 record shown, 1,000 read of orders-in.')).toBeInTheDocument()
  expect(asked).toHaveBeenCalledWith(expect.objectContaining({ of: FIRST, limit: 10 }))
})
