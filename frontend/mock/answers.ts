import type {
  Condition,
  FleetPipeline,
  Flow,
  LedgerSummary,
  PipelineStatus,
  Topology,
  TopologyNode,
} from '../src/api/types'
import { iso, type Simulated } from './seed.ts'
import type { World } from './world.ts'

export function statusOf(world: World, sim: Simulated): PipelineStatus {
  const { pipeline } = sim
  const condition = (type: Condition['type'], ok: boolean, message: string) => ({
    type,
    status: ok ? ('True' as const) : ('False' as const),
    reason: '',
    message,
    last_transition_time: pipeline.phase_since,
  })
  const alive = sim.runs[0]?.state === 'LIVE'
  return {
    ...pipeline,
    lag: pipeline.live.lag_records,
    choices: [],
    outdated_secrets: [],
    drain: null,
    conditions: [
      condition('Stable', pipeline.operation === null, 'Desired and observed state agree.'),
      condition('PositionsSafe', pipeline.phase !== 'BLOCKED', 'Ledger and checkpoint agree.'),
      condition('LedgerBalanced', true, 'Every record is accounted for.'),
      condition('Output', true, 'The share of what is read that is delivered is as usual.'),
      condition('Supervised', pipeline.supervised, 'The worker of its host ticks every second.'),
    ],
    run: sim.runs[0] ?? null,
    runs: sim.runs.slice(0, 5),
    queries: world.queries(sim),
    ingest_buffers: [],
    components: alive
      ? [
          { name: 'shop', kind: 'source', type: 'kafka', state: 'ready', detail: '3 partitions' },
          { name: 'shop.timestamp', kind: 'interceptor', type: 'timestamp', state: 'ready', detail: '' },
          { name: 'main', kind: 'channel', type: 'direct', state: 'ready', detail: '' },
          {
            name: 'lake',
            kind: 'sink',
            type: 'kafka',
            state: pipeline.phase === 'DEGRADED' ? 'failed' : 'ready',
            detail: '',
          },
        ]
      : [],
    findings:
      pipeline.phase === 'BLOCKED'
        ? [
            {
              path: 'sources.shop',
              code: 'BELOW_LOG_START',
              message: pipeline.phase_message,
              suggestion: 'Choose a start position; 1,204 records are deleted from the log.',
              severity: 'error',
              line: null,
              column: null,
            },
          ]
        : [],
  }
}

const NOTHING = { added: 0, routed_elsewhere: 0, filtered: 0, unrouted: 0, dead_lettered: 0 }

const BODY_BYTES = 200

/** One chain, in which every fiftieth record is filtered. */
export function topology({ pipeline, runs }: Simulated): Topology {
  const read = runs[0]?.state === 'LIVE' ? Math.round(60 * (pipeline.live.records_per_second ?? 0)) : 0
  const filtered = Math.floor(read / 50)
  const node = (path: string, kind: TopologyNode['kind'], type: string, received: number, taken = 0) => ({
    ...{ path, kind, type, name: path.split('.').at(-1) ?? path, received, passed: received - taken },
    ...{ added: 0, filtered: taken, unrouted: 0, dead_lettered: 0, dropped: 0 },
  })
  const nodes: TopologyNode[] = [
    node('sources.shop', 'source', 'kafka', read),
    node('sources.shop.interceptors[0]', 'interceptor', 'regex_filter', read, filtered),
    node('sources.shop.selector', 'selector', 'replicating', read - filtered),
    node('channels.main', 'channel', 'direct', read - filtered),
    node('sinks.lake', 'sink', 'kafka', read - filtered),
  ]
  const edges = nodes.slice(1).map(({ path, received }, before) => ({
    origin: nodes[before]?.path ?? '',
    target: path,
    records: received,
  }))
  const until = Date.now()
  return { revision: pipeline.revision, since: iso(until - 60_000), until: iso(until), nodes, edges }
}

/** All that was read, as if it was read in this time. */
export function flow(sim: Simulated, minutes: number): Flow {
  const until = Date.now()
  const channels = summary(sim).channels.map((each) => ({ ...each, delivered_by: { lake: each.delivered } }))
  return { since: iso(until - minutes * 60_000), until: iso(until), channels }
}

export function summary(sim: Simulated): LedgerSummary {
  const filtered = Math.floor(sim.read / 50)
  const totals = {
    read: sim.read,
    delivered: sim.read - filtered,
    filtered,
    delivered_bytes: (sim.read - filtered) * BODY_BYTES,
    delivered_without_bytes: 0,
    duplicates_max: 0,
    gaps: 0,
    overlaps: 0,
  }
  const rest = { unrouted: 0, dead_lettered: 0, dropped_optional: 0, added: 0, routed_elsewhere: 0 }
  return {
    ...totals,
    balanced: true,
    channels: sim.read
      ? [
          {
            source: 'shop',
            channel: 'main',
            ...totals,
            ...rest,
            batches: 3_412,
            open_batches: 0,
            components: [
              {
                component: 'sources.shop.interceptors[0]',
                type: 'regex_filter',
                first_revision: 1,
                last_revision: 3,
                ...NOTHING,
                filtered,
              },
            ],
            not_by_component: {},
            balanced: true,
          },
        ]
      : [],
    positions: sim.offsets.map((next_offset, partition) => ({
      source: 'shop',
      channel: 'main',
      topic: sim.pipeline.name.split('-')[0]!,
      partition,
      next_offset,
      updated_at: sim.pipeline.updated_at,
    })),
  }
}

export function batches(sim: Simulated) {
  if (!sim.read) return []
  const now = Date.now()
  return Array.from({ length: 40 }, (_, index) => {
    const last = 3_412 - index
    const read = 900 + ((index * 131) % 400)
    const filtered = Math.floor(read / 50)
    return {
      id: last,
      run: 3,
      source: 'shop',
      channel: 'main',
      first_batch: last,
      last_batch: last,
      state: 'done' as const,
      read,
      delivered: read - filtered,
      filtered,
      unrouted: 0,
      dead_lettered: 0,
      dropped_optional: 0,
      components: { 'sources.shop.interceptors[0]': { filtered } },
      delivered_bytes: (read - filtered) * BODY_BYTES,
      duplicates_max: 0,
      ranges: sim.offsets.map((start, partition) => ({
        topic: 'orders',
        partition,
        start: start - index * 300,
        end: start - index * 300 + 300,
      })),
      sink: 'lake',
      attempts: 1,
      planned_at: iso(now - index * 1_000 - 340),
      done_at: iso(now - index * 1_000),
      balanced: true,
    }
  })
}

export function revisions(sim: Simulated) {
  return [2, 1].slice(2 - (sim.pipeline.revision ?? 2)).map((number) => ({
    number,
    digest: String(number).repeat(64),
    created_at: iso(Date.parse(sim.pipeline.created_at) + number * 3_600_000),
    created_by: 'admin',
    note: number === 1 ? '' : 'Only JSON objects',
    definition: { name: sim.pipeline.name },
  }))
}

export const diff = {
  from: 1,
  to: 2,
  changes: [
    {
      path: 'sources.shop.interceptors[1]',
      op: 'add',
      old: null,
      new: { type: 'regex_filter', regex: '^\\{' },
    },
    { path: 'sinks.lake.topic', op: 'change', old: 'orders.raw', new: 'orders.clean' },
  ],
}

const limits = {
  messages: null,
  disk: null,
  isolation: null,
  lease_epoch: 1,
  slots: null,
  memory_limit: null,
  promised: 1,
  memory_promised: 1 << 30,
  drained_at: null,
  drained_by: '',
}

export function hosts(world: World) {
  const agents = [...world.pipelines.values()].filter(({ runs }) => runs[0]?.state === 'LIVE').length
  return [
    {
      name: 'alpha',
      state: 'UP',
      seen_at: iso(Date.now() - 400),
      supervised: true,
      agents,
      cores: 8,
      memory_bytes: 33_654_000_000,
      state_dir: '/var/lib/headgate',
      version: '0.1.0',
      ...limits,
    },
    {
      name: 'bravo',
      state: 'LOST',
      seen_at: iso(Date.now() - 121_000),
      supervised: false,
      agents: 1,
      cores: 4,
      memory_bytes: 16_700_000_000,
      state_dir: '/var/lib/headgate',
      version: '0.1.0',
      ...limits,
    },
  ]
}

const HALF_HOUR = 1_800

/** A day in which every pipeline ran until it came into the phase that it has. */
export function fleet(world: World): FleetPipeline[] {
  const start = (Math.floor(Date.now() / 1_000 / HALF_HOUR) - 47) * HALF_HOUR * 1_000
  return [...world.pipelines.values()].map(({ pipeline }) => ({
    ...pipeline,
    history: {
      since: iso(start),
      slot_seconds: HALF_HOUR,
      phases: Array.from({ length: 48 }, (_, slot) =>
        start + (slot + 1) * HALF_HOUR * 1_000 > Date.parse(pipeline.phase_since)
          ? pipeline.phase
          : 'RUNNING',
      ),
    },
  }))
}
