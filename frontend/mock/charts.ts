import type { components } from '../src/api/schema'
import { iso, wave, type Simulated } from './seed.ts'

type Charts = components['schemas']['Charts']
type PartitionCharts = components['schemas']['PartitionCharts']

const STEPS = [5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200, 21_600]
const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }
const PARTITIONS = 48

/** Windows of a range, as the server chooses them. */
function windows(query: URLSearchParams, most: number) {
  const now = Date.now() / 1_000
  const until = query.has('until') ? Date.parse(query.get('until')!) / 1_000 : now
  const since = query.get('since') ?? '1h'
  const ago = /^(\d+)([smhd])$/.exec(since)
  const from = ago ? until - Number(ago[1]) * UNITS[ago[2]!]! : Date.parse(since) / 1_000
  const step = STEPS.find((each) => (until - from) / each <= most) ?? STEPS.at(-1)!
  const first = Math.floor(from / step) * step
  const times = Array.from({ length: Math.floor((until - first) / step) }, (_, index) => first + index * step)
  return { step, times, since: iso(from * 1_000), until: iso(until * 1_000), length: until - from }
}

/** An outage in each range, so that there is a gap, and a restart after it. */
export function charts(sim: Simulated, query: URLSearchParams): Charts {
  const { step, times, since, until, length } = windows(query, 500)
  const begin = Date.parse(since) / 1_000
  const away = (time: number) => time > begin + length * 0.4 && time < begin + length * 0.46
  const known = <T>(value: (time: number) => T) => times.map((time) => (away(time) ? null : value(time)))
  const read = (time: number) => wave(900, sim.offsets.length, time * 1_000 * (300 / length))
  const lag = (time: number) => {
    const after = time - (begin + length * 0.46)
    return after > 0 ? Math.round(80_000 * Math.exp((-after / length) * 12)) + 400 : 420
  }
  const at = (share: number) => iso((begin + length * share) * 1_000)
  const mark = (id: number, share: number, state: string, message: string) => ({
    id,
    at: at(share),
    kind: 'phase.changed',
    state,
    message,
  })
  return {
    since,
    until,
    step,
    at: times.map((time) => iso(time * 1_000)),
    read_per_second: known(read),
    delivered_per_second: known((time) => Math.round(read(time) * 0.93)),
    lag_records: times.map(lag),
    lag_seconds: times.map((time) => Math.round(lag(time) / 90)),
    batches: known(() => step),
    batch_seconds: {
      plan: known(() => 0.012),
      wait: known((time) => (time < begin + length * 0.5 && time > begin + length * 0.46 ? 0.31 : 0.004)),
      deliver: known((time) => 0.18 + read(time) / 9_000),
      dead_letters: known(() => 0.006),
      other: known(() => 0.021),
    },
    restarts: times.map((time) =>
      time >= begin + length * 0.44 && time < begin + length * 0.44 + step ? 2 : 0,
    ),
    marks: [
      mark(1, 0.2, 'PAUSED', 'Paused by ana.'),
      mark(2, 0.21, 'RUNNING', 'Records move.'),
      mark(3, 0.4, 'FAILED', 'The JVM ran out of memory.'),
      mark(4, 0.405, 'BACKOFF', 'Run 6 was killed by signal 9.'),
      mark(5, 0.42, 'BACKOFF', 'Run 7 was killed by signal 9.'),
      mark(6, 0.46, 'RUNNING', 'Records move.'),
      { id: 7, at: at(0.8), kind: 'migration.committed', state: '', message: 'Committed.' },
    ],
    marks_left_out: false,
    created_at: sim.pipeline.created_at,
    ran: true,
    lag_kept_since: iso(Date.now() - 90 * 86_400_000),
    events_kept_since: iso(Date.now() - 90 * 86_400_000),
  }
}

export function partitionCharts(sim: Simulated, query: URLSearchParams): PartitionCharts {
  const { step, times, since, until, length } = windows(query, 200)
  const begin = Date.parse(since) / 1_000
  const value = (partition: number, time: number) => {
    const share = (time - begin) / length
    if (share > 0.4 && share < 0.46 && partition % 5 === 0) return null
    const burst = share > 0.5 && partition % 7 === 3 ? 10 ** (5 * (1 - share)) : 0
    return Math.max(0, Math.round(burst + 40 * (partition % 3) * (1 + Math.sin(share * 20 + partition))))
  }
  return {
    since,
    until,
    step,
    at: times.map((time) => iso(time * 1_000)),
    partitions: Array.from({ length: PARTITIONS }, (_, partition) => ({
      source: 'shop',
      channel: 'main',
      topic: sim.pipeline.name.split('-')[0]!,
      partition,
      records: times.map((time) => value(partition, time)),
      seconds: times.map((time) => {
        const records = value(partition, time)
        return records === null ? null : Math.round(records / 30)
      }),
    })),
    left_out: 0,
  }
}
