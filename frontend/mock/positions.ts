import type { PositionMove, PositionPlan, Positions } from '../src/api/types'
import { iso, type Simulated } from './seed.ts'

const LOG = 250_000
const place = (partition: number, topic: string) => ({ source: 'shop', channel: 'main', topic, partition })

function startOf(sim: Simulated, partition: number): number {
  const gone = sim.pipeline.phase === 'BLOCKED' && partition === 2
  return (sim.offsets[partition] ?? 0) + (gone ? 1_204 : -LOG)
}

/** What the guard finds: of a blocked pipeline one partition has lost records. */
export function positions(sim: Simulated): Positions {
  const topic = topicOf(sim)
  return {
    pipeline: sim.pipeline.name,
    taken_at: iso(Date.now()),
    fresh: true,
    error: null,
    findings: [],
    partitions: sim.offsets.map((at, partition) => {
      const codes = startOf(sim, partition) > at ? ['BELOW_LOG_START'] : []
      return {
        ...place(partition, topic),
        ...{ ledger: at, checkpoint: at, group: at - 12 },
        ...{ log_start: startOf(sim, partition), log_end: sim.ends[partition] ?? at },
        ...{ verdict: codes.join() || 'AGREES', codes },
      }
    }),
    choices:
      sim.pipeline.phase !== 'BLOCKED'
        ? []
        : (['ledger', 'latest'] as const).map((to) => {
            const { skip, replay } = planOf(sim, to)
            const reason = 'It skips the fewest records.'
            return { to, skip, replay, recommended: to === 'ledger', reason, partitions: [] }
          }),
  }
}

const topicOf = (sim: Simulated) => sim.pipeline.name.split('-')[0] ?? 'orders'

let plans: Record<string, PositionPlan> = {}

export function planOf(sim: Simulated, to: string): PositionPlan {
  const topic = topicOf(sim)
  const moves = sim.offsets.map((at, partition) =>
    moveOf(sim, topic, partition, at, wordOf(to, topic, partition)),
  )
  const sum = (name: 'skip' | 'replay' | 'gone') => moves.reduce((all, move) => all + move[name], 0)
  const hash = `${sim.pipeline.name}-${to}`
  const plan: PositionPlan = {
    ...{ id: hash, pipeline: sim.pipeline.name, state: 'ANSWERED', to: {}, hash },
    ...{ skip: sum('skip'), replay: sum('replay'), gone: sum('gone'), possible_duplicates: sum('replay') },
    ...{ partitions: moves, impossible: [], asked_by: 'admin', asked_at: iso(Date.now()), expires_at: null },
  }
  plans = { ...plans, [hash]: plan }
  return plan
}

export const planned = (hash: string): PositionPlan | undefined => plans[hash]

function wordOf(to: string, topic: string, partition: number): string {
  if (!to.startsWith('offsets=')) return to
  const head = `${topic}/${partition}:`
  const part = to
    .slice('offsets='.length)
    .split(',')
    .find((each) => each.startsWith(head))
  return part?.slice(head.length) ?? 'unread'
}

function moveOf(sim: Simulated, topic: string, partition: number, at: number, word: string): PositionMove {
  const start = startOf(sim, partition)
  const end = sim.ends[partition] ?? at
  const words: Record<string, number> = { earliest: start, latest: end, group: at - 12 }
  const wanted = /^\d+$/.test(word) ? Number(word) : (words[word] ?? (word.includes('T') ? at - 3_000 : at))
  const next = Math.min(Math.max(wanted, start), end)
  const skip = Math.max(0, next - at)
  const gone = Math.min(skip, Math.max(0, start - at))
  return { ...place(partition, topic), old: at, new: next, skip, replay: Math.max(0, at - next), gone }
}
