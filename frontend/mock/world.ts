import type {
  HeadgateEvent,
  LiveFrame,
  Operation,
  ActionKind,
  Phase,
  Pipeline,
  ReadOnlyMode,
  Secret,
} from '../src/api/types'
import { iso, queriesOf, seed, wave, type Simulated } from './seed.ts'

type Listener = (frame: { event: 'event'; data: HeadgateEvent } | { event: 'live'; data: LiveFrame }) => void

const WANTS: Record<
  ActionKind,
  { desired: Pipeline['desired_state']; from: Phase[]; path: Phase[]; steps: string[] }
> = {
  start: {
    desired: 'RUNNING',
    from: ['STOPPED', 'FAILED', 'BLOCKED'],
    path: ['PREFLIGHT', 'STARTING', 'RUNNING'],
    steps: ['dispatched', 'preflight', 'first_batch'],
  },
  pause: {
    desired: 'PAUSED',
    from: ['RUNNING', 'DEGRADED', 'STALLED'],
    path: ['PAUSING', 'PAUSED'],
    steps: ['dispatched', 'gate_closed', 'proven'],
  },
  resume: {
    desired: 'RUNNING',
    from: ['PAUSED'],
    path: ['STARTING', 'RUNNING'],
    steps: ['dispatched', 'first_batch'],
  },
  stop: {
    desired: 'STOPPED',
    from: ['RUNNING', 'PAUSED', 'DEGRADED', 'STALLED', 'BACKOFF', 'UNKNOWN'],
    path: ['STOPPING', 'STOPPED'],
    steps: ['dispatched', 'drained', 'process_ended'],
  },
  'force-stop': {
    desired: 'STOPPED',
    from: ['RUNNING', 'PAUSED', 'DEGRADED', 'STALLED', 'STOPPING', 'UNKNOWN'],
    path: ['STOPPING', 'STOPPED'],
    steps: ['dispatched', 'process_ended'],
  },
  restart: {
    desired: 'RUNNING',
    from: ['RUNNING', 'PAUSED', 'DEGRADED', 'STALLED'],
    path: ['STOPPING', 'STOPPED', 'PREFLIGHT', 'STARTING', 'RUNNING'],
    steps: ['stopped', 'preflight', 'first_batch'],
  },
}
const STEP_MS = 900
const MOVING: Phase[] = ['RUNNING', 'DEGRADED', 'STALLED']

/** The state behind the mock API: pipelines whose figures move and whose phases follow what is asked of them. */
export class World {
  readonly pipelines = new Map<string, Simulated>()
  readonly operations: Operation[] = []
  readonly events: HeadgateEvent[] = []
  readonly secrets = new Map<string, Secret>()
  readOnly: ReadOnlyMode = {
    ...{ read_only: false, source: null, reason: '', set_by: '', since: null, etag: '"0"' },
  }
  session: { user: string; role: 'viewer' | 'operator' | 'admin' } | null = null
  private readonly listeners = new Set<Listener>()
  private serial = 0

  constructor(size: number) {
    this.reset(size)
  }

  reset(size: number): void {
    this.pipelines.clear()
    this.operations.length = 0
    this.events.length = 0
    for (let index = 0; index < size; index += 1) {
      const sim = seed(index, Date.now(), size === 1)
      this.pipelines.set(sim.pipeline.name, sim)
      this.refresh(sim)
      if (index < 40) this.history(sim)
    }
  }

  private history(sim: Simulated): void {
    const { name, phase, phase_since } = sim.pipeline
    const at = Date.parse(phase_since)
    this.log(name, 'pipeline.created', 'Created from revision 1.', 'admin', {}, at - 60_000)
    this.log(name, 'run.started', 'Run 3 started on alpha.', 'system', {}, at - 6_000)
    this.log(
      name,
      'phase.changed',
      `${phase} since the first batch.`,
      'system',
      { old: 'STARTING', new: phase },
      at,
    )
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  log(pipeline: string, kind: string, message: string, actor = 'system', data = {}, at = Date.now()): void {
    this.serial += 1
    const event = { id: this.serial, at: iso(at), kind, pipeline, actor, run: null, message, data }
    this.events.unshift(event)
    this.listeners.forEach((listener) => listener({ event: 'event', data: event }))
  }

  add(name: string, yaml: string): Simulated {
    const made = seed(this.pipelines.size, Date.now())
    const pipeline = {
      ...made.pipeline,
      name,
      phase: 'STOPPED' as const,
      desired_state: 'STOPPED' as const,
      revision: 1,
    }
    const sim = {
      ...made,
      pipeline: { ...pipeline, phase_message: '', stop_reason: null, host: null },
      yaml,
      runs: [],
      series: [],
      read: 0,
    }
    this.pipelines.set(name, sim)
    this.refresh(sim)
    this.log(name, 'pipeline.created', 'Created from revision 1.', 'admin')
    return sim
  }

  tick(): void {
    for (const sim of this.pipelines.values()) {
      if (!MOVING.includes(sim.pipeline.phase) && sim.pipeline.phase !== 'PAUSED') continue
      this.move(sim)
      this.listeners.forEach((listener) => listener({ event: 'live', data: this.frame(sim) }))
    }
  }

  private move(sim: Simulated): void {
    const now = Date.now()
    const index = [...sim.pipeline.name].reduce((sum, character) => sum + character.charCodeAt(0), 0)
    const flowing = sim.pipeline.phase === 'RUNNING'
    const rate = flowing ? wave(900 + (index % 17) * 130, index, now) : 0
    sim.offsets = sim.offsets.map((offset) => offset + Math.round(rate / 3))
    sim.ends = sim.ends.map((end, place) =>
      Math.max(sim.offsets[place]! + Math.round(rate / 5), flowing ? 0 : end + 300),
    )
    sim.read += rate
    const lag = sim.ends.reduce((sum, end, place) => sum + end - sim.offsets[place]!, 0)
    sim.pipeline.live = {
      records_per_second: rate,
      lag_records: lag,
      last_batch_at: flowing ? iso(now - 200) : sim.pipeline.live.last_batch_at,
      in_flight: flowing ? 1 : 0,
      as_of: iso(now),
      stale: false,
    }
    sim.pipeline.updated_at = iso(now)
    sim.series = [...sim.series.slice(-1_200), { at: iso(now), records_per_second: rate, lag_records: lag }]
  }

  frame(sim: Simulated): LiveFrame {
    const { name, phase, desired_state, generation, observed_generation, live, updated_at } = sim.pipeline
    return {
      pipeline: name,
      phase,
      desired_state,
      generation,
      observed_generation,
      live,
      queries: this.queries(sim),
      updated_at,
    }
  }

  queries(sim: Simulated) {
    return queriesOf(sim, sim.pipeline.name.split('-')[0]!)
  }

  request(sim: Simulated, kind: ActionKind): Operation | { refused: string } {
    const { desired, from, path, steps } = WANTS[kind]
    if (!from.includes(sim.pipeline.phase)) return { refused: `It is ${sim.pipeline.phase.toLowerCase()}.` }
    const operation = newOperation(sim.pipeline.name, kind, steps)
    this.operations.unshift(operation)
    Object.assign(sim.pipeline, {
      desired_state: desired,
      generation: sim.pipeline.generation + 1,
      operation,
    })
    this.log(sim.pipeline.name, 'desired.changed', `${kind} asked for.`, 'admin')
    this.refresh(sim)
    path.forEach((phase, place) =>
      setTimeout(() => this.advance(sim, operation, phase, place, path.length), STEP_MS * (place + 1)),
    )
    return operation
  }

  private advance(sim: Simulated, operation: Operation, phase: Phase, place: number, total: number): void {
    const now = iso(Date.now())
    const old = sim.pipeline.phase
    const done = Math.round(((place + 1) / total) * operation.steps.length)
    operation.steps.forEach((step, index) => {
      if (index < done && step.state !== 'done')
        Object.assign(step, { state: 'done', started_at: step.started_at ?? now, ended_at: now })
      if (index === done) Object.assign(step, { state: 'running', started_at: now })
    })
    operation.state = place === total - 1 ? 'SUCCEEDED' : 'RUNNING'
    if (operation.state === 'SUCCEEDED') operation.ended_at = now
    Object.assign(sim.pipeline, {
      phase,
      phase_since: now,
      phase_message: '',
      updated_at: now,
      host: 'alpha',
    })
    if (phase === 'STOPPED') sim.pipeline.stop_reason = 'USER'
    if (operation.state === 'SUCCEEDED')
      Object.assign(sim.pipeline, { operation: null, observed_generation: sim.pipeline.generation })
    this.refresh(sim)
    this.log(sim.pipeline.name, 'phase.changed', `${old} to ${phase}.`, 'system', { old, new: phase })
  }

  refresh(sim: Simulated): void {
    const { phase, operation } = sim.pipeline
    const word = phase.toLowerCase()
    const kinds = Object.keys(WANTS) as ActionKind[]
    sim.pipeline.allowed_actions = [
      ...kinds.map((name) => {
        const allowed = WANTS[name].from.includes(phase) && !operation
        return {
          name,
          allowed,
          reason: allowed ? '' : operation ? `A ${operation.kind} is going on.` : `It is ${word}.`,
          consequence: '',
        }
      }),
      ...(['edit', 'delete'] as const).map((name) => ({
        name,
        allowed: phase === 'STOPPED',
        reason: phase === 'STOPPED' ? '' : `It is ${word}; stop it first.`,
        consequence: '',
      })),
    ]
    sim.pipeline.etag = `"${sim.pipeline.generation}-${phase}"`
  }
}

function newOperation(pipeline: string, kind: ActionKind, steps: string[]): Operation {
  const now = Date.now()
  return {
    id: `op-${now}-${Math.round(Math.random() * 1e6)}`,
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    pipeline,
    kind,
    state: 'PENDING',
    steps: steps.map((name, index) => ({
      name,
      state: index === 0 ? 'running' : 'pending',
      started_at: index === 0 ? iso(now) : null,
      ended_at: null,
      message: '',
    })),
    created_by: 'admin',
    created_at: iso(now),
    ended_at: null,
    deadline: iso(now + 60_000),
    message: '',
    error: null,
    progress: {},
  }
}
