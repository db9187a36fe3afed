import type { Phase, Pipeline, QueryStatus, Run } from '../src/api/types'

/** A simulated pipeline: what the API would say of it, and the figures behind that. */
export interface Simulated {
  pipeline: Pipeline
  yaml: string
  runs: Run[]
  offsets: number[]
  ends: number[]
  read: number
  series: { at: string; records_per_second: number; lag_records: number }[]
}

const MIX: Phase[] = ['RUNNING', 'RUNNING', 'RUNNING', 'PAUSED', 'RUNNING', 'STOPPED', 'RUNNING', 'RUNNING']
const TROUBLE: Record<number, Phase> = {
  3: 'BLOCKED',
  7: 'DEGRADED',
  11: 'BACKOFF',
  14: 'STALLED',
  17: 'FAILED',
  23: 'UNKNOWN',
}
const MESSAGES: Partial<Record<Phase, string>> = {
  BLOCKED: 'Topic orders, partition 2: position 48,210 is 1,204 records before the log start.',
  DEGRADED: 'Sink lake does not respond (connection refused). Batch 812 is held and retried.',
  STALLED: 'No batch has finished for 6 min; sink audit has been writing since 12:04.',
  FAILED: 'Ten consecutive runs ended by themselves. The last one: the JVM ran out of memory.',
  UNKNOWN: 'Host bravo has been silent for 2 min.',
  BACKOFF: 'Run 6 was killed by signal 9; run 7 starts when the back-off ends.',
}
const TOPICS = ['orders', 'payments', 'clicks', 'shipments', 'stock', 'sessions', 'invoices', 'returns']
const TEAMS = ['payments', 'web', 'logistics', 'data']

export const iso = (ms: number) => new Date(ms).toISOString()

export function seed(index: number, now: number, only = false): Simulated {
  const topic = TOPICS[index % TOPICS.length]!
  const name = only ? 'demo' : `${topic}-${['clean', 'audit', 'lake', 'mirror'][index % 4]}-${index + 1}`
  const phase = only ? 'RUNNING' : (TROUBLE[index % 60] ?? MIX[index % MIX.length]!)
  const rate = 200 + ((index * 7919) % 4_000)
  const offsets = [0, 1, 2].map((partition) => 1_000_000 + index * 1_000 + partition * 37)
  const since = now - ((index * 977_351) % 86_400_000) - 90_000
  return {
    pipeline: pipelineOf(name, topic, phase, index, since, now),
    yaml: yamlOf(name, topic),
    runs: runsOf(index, phase, since),
    offsets,
    ends: offsets.map((offset) => offset + rate),
    read: offsets.reduce((sum, offset) => sum + offset, 0),
    series: Array.from({ length: 300 }, (_, step) => ({
      at: iso(now - (300 - step) * 3_000),
      records_per_second: wave(rate, index, now - (300 - step) * 3_000),
      lag_records: Math.round(wave(rate, index + 5, now - (300 - step) * 3_000) * 1.4),
    })),
  }
}

export function wave(rate: number, phase: number, at: number): number {
  return Math.round(
    rate * (1 + 0.22 * Math.sin(at / 41_000 + phase) + 0.07 * Math.sin(at / 3_700 + phase * 3)),
  )
}

const URGENT: Phase[] = ['BLOCKED', 'FAILED', 'STALLED', 'UNKNOWN', 'DEGRADED']

function pipelineOf(
  name: string,
  topic: string,
  phase: Phase,
  index: number,
  since: number,
  now: number,
): Pipeline {
  const desired = phase === 'STOPPED' ? 'STOPPED' : phase === 'PAUSED' ? 'PAUSED' : 'RUNNING'
  return {
    name,
    team: 'default',
    description: `Records of ${topic}, cleaned`,
    labels: { team: TEAMS[index % TEAMS.length]! },
    desired_state: desired,
    phase,
    phase_since: iso(since),
    phase_reason: '',
    headline: `${phase[0]}${phase.slice(1).toLowerCase()}. ${MESSAGES[phase] ?? ''}`.trim(),
    phase_message: MESSAGES[phase] ?? '',
    stop_reason: phase === 'STOPPED' ? 'USER' : null,
    generation: 3,
    observed_generation: 3,
    revision: 2,
    host: phase === 'UNKNOWN' ? 'bravo' : 'alpha',
    created_at: iso(since - 86_400_000),
    updated_at: iso(now),
    etag: `"3-${index}"`,
    live: {
      records_per_second: null,
      lag_records: null,
      last_batch_at: null,
      in_flight: 0,
      as_of: null,
      stale: false,
    },
    restart_count: phase === 'BACKOFF' ? 6 : 0,
    next_restart_at: phase === 'BACKOFF' ? iso(now + 40_000) : null,
    supervised: phase !== 'UNKNOWN',
    attention: URGENT.includes(phase) ? URGENT.indexOf(phase) : null,
    operation: null,
    allowed_actions: [],
  }
}

function runsOf(index: number, phase: Phase, since: number): Run[] {
  const live = !['STOPPED', 'BLOCKED', 'FAILED', 'BACKOFF'].includes(phase)
  const outcomes = ['KILLED', 'CLEAN', 'CLEAN'] as const
  return [3, 2, 1].map((number, place) => {
    const start = since - place * 7_200_000
    const alive = live && place === 0
    return {
      id: index * 10 + number,
      number,
      role: 'ACTIVE',
      epoch: number,
      revision: Math.min(2, number),
      host: 'alpha',
      lineage: 1,
      state: alive ? 'LIVE' : 'ENDED',
      outcome: alive ? null : outcomes[place]!,
      exit_code: alive ? null : place === 0 ? -9 : 0,
      exit_reason: alive ? '' : place === 0 ? 'signal 9' : 'drained and stopped on request',
      stop_stage: alive ? '' : 'DRAIN',
      started_at: iso(start - 6_000),
      first_record_at: iso(start - 700),
      ended_at: alive ? null : iso(start + 3_600_000),
      promoted_at: null,
      stop_requested_at: alive ? null : iso(start + 3_599_000),
      start_requested_at: iso(start - 6_400),
      driver_pid: 4_100 + index,
      keeper_pid: 4_099 + index,
      run_dir: `var/runs/demo/${number}`,
      stuck: [],
      dumps: [],
    }
  })
}

function yamlOf(name: string, topic: string): string {
  return [
    'api_version: headgate/v1',
    `name: ${name}`,
    `description: Records of ${topic}, cleaned`,
    'sources:',
    '  shop:',
    '    type: kafka',
    '    bootstrap_servers: localhost:9092',
    `    topics: [${topic}]`,
    `    group_id: headgate.${name}`,
    '    start_from: earliest',
    '    interceptors:',
    '      - {type: timestamp}',
    "      - {type: regex_filter, regex: '^\\{'}",
    'channels:',
    '  main: {type: direct}',
    'sinks:',
    `  lake: {type: kafka, channel: main, bootstrap_servers: localhost:9092, topic: ${topic}.clean}`,
    '',
  ].join('\n')
}

export function queriesOf(sim: Simulated, topic: string): QueryStatus[] {
  const { live, phase } = sim.pipeline
  if (['STOPPED', 'BLOCKED', 'FAILED', 'BACKOFF', 'PREFLIGHT'].includes(phase)) return []
  return [
    {
      source: 'shop',
      channel: 'main',
      batch: Math.floor(sim.read / 1_000),
      in_flight: live.in_flight > 0,
      positions: sim.offsets.map((next_offset, partition) => ({
        topic,
        partition,
        next_offset,
        end_offset: sim.ends[partition]!,
        lag: sim.ends[partition]! - next_offset,
      })),
      records_per_second: live.records_per_second ?? 0,
      delivered: sim.read,
      last_batch_at: live.last_batch_at,
      holding:
        phase === 'DEGRADED'
          ? {
              component: 'sinks.lake',
              cause: 'Connection refused: broker localhost:9092',
              attempts: 7,
              since: sim.pipeline.phase_since,
            }
          : null,
      guarantee: 'exactly_once',
      checking: null,
      group: null,
    },
  ]
}
