import type { Condition, Finding, LedgerSummary, OperationKind, PipelineStatus } from '../src/api/types'
import { iso, type Simulated } from './seed.ts'
import { World, yamlOf } from './world.ts'

const json = (body: unknown, code = 200) => Response.json(body, { status: code })

function problem(status: number, code: string, detail: string, more = {}): Response {
  return json(
    { type: `urn:headgate:problem:${code}`, title: detail, status, detail, code, hint: '', ...more },
    status,
  )
}

const page = (results: unknown[]) => json({ results, next: null })

/** Answers one request of REST /api/v1 out of the simulated world. */
export async function handle(world: World, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const path = url.pathname.replace('/api/v1', '')
  const body = ['POST', 'PATCH'].includes(request.method)
    ? ((await request.json().catch(() => ({}))) as Record<string, unknown>)
    : {}
  if (path === '/session') return session(world, request.method, body)
  if (!world.session) return problem(401, 'not_authenticated', 'Log in first.')
  if (path === '/events' && request.headers.get('accept')?.includes('text/event-stream'))
    return stream(world, request.signal)
  if (path === '/events') {
    const name = url.searchParams.get('pipeline')
    return page(world.events.filter((event) => !name || event.pipeline === name).slice(0, 60))
  }
  if (path === '/hosts') return json(hosts(world))
  if (path === '/operations')
    return page(world.operations.filter(({ pipeline }) => pipeline === url.searchParams.get('pipeline')))
  if (path.startsWith('/runs/')) return runLog(url)
  if (path === '/pipelines/validate') return json(validation(String(body.definition)))
  if (path === '/pipelines') return request.method === 'POST' ? create(world, body) : list(world)
  return onPipeline(world, path, request, body)
}

function session(world: World, method: string, body: Record<string, unknown>): Response {
  if (method === 'POST') {
    if (body.password !== 'admin') return problem(401, 'wrong_credentials', 'User name or password is wrong.')
    world.session = { user: String(body.username), role: body.username === 'viewer' ? 'viewer' : 'admin' }
  }
  if (method === 'DELETE') {
    world.session = null
    return new Response(null, { status: 204 })
  }
  return json({ authenticated: world.session !== null, csrf_token: 'mock', ...world.session })
}

function list(world: World): Response {
  return page([...world.pipelines.values()].map(({ pipeline }) => pipeline))
}

function create(world: World, body: Record<string, unknown>): Response {
  const text = String(body.definition)
  const { findings } = validation(text)
  if (findings.length > 0)
    return problem(422, 'invalid_definition', 'The definition has findings.', { findings })
  return json(world.add(nameIn(text), text).pipeline, 201)
}

function nameIn(text: string): string {
  return /^name:\s*(\S+)/m.exec(text)?.[1] ?? ''
}

function validation(text: string) {
  const findings: Finding[] = []
  const add = (path: string, code: string, message: string, suggestion: string) =>
    findings.push({ path, code, message, suggestion, severity: 'error', ...lineOf(text, path) })
  if (!nameIn(text)) add('name', 'missing', 'A pipeline needs a name.', 'Add a line such as: name: orders')
  if (text.includes('topicz'))
    add('sources.shop.topicz', 'unknown_key', 'There is no key “topicz” here.', 'Did you mean “topics”?')
  return {
    valid: findings.length === 0,
    findings,
    definition: { name: nameIn(text) },
    digest: 'f'.repeat(64),
  }
}

function lineOf(text: string, path: string) {
  const index = text.split('\n').findIndex((line) => line.includes(`${path.split('.').at(-1)}:`))
  return { line: index < 0 ? 1 : index + 1, column: 1 }
}

function onPipeline(world: World, path: string, request: Request, body: Record<string, unknown>): Response {
  const [, , name = '', part, number, sub] = path.split('/')
  const sim = world.pipelines.get(decodeURIComponent(name))
  if (!sim) return problem(404, 'not_found', `There is no pipeline named ${name}.`)
  if (request.method === 'POST' && part && part !== 'revisions') {
    const answer = world.request(sim, part as OperationKind)
    return 'refused' in answer ? problem(409, 'not_possible', answer.refused) : json(answer, 202)
  }
  if (request.method === 'DELETE') {
    world.pipelines.delete(name)
    return new Response(null, { status: 204 })
  }
  if (request.method === 'PATCH') Object.assign(sim.pipeline, body)
  switch (part) {
    case 'status':
      return json(statusOf(world, sim))
    case 'series':
      return json({ points: sim.series })
    case 'ledger':
      return number === 'summary' ? json(summary(sim)) : page(batches(sim))
    case 'runs':
      return page(sim.runs)
    case 'revisions':
      return sub === 'diff'
        ? json(diff)
        : request.method === 'POST'
          ? json(revisions(sim)[0], 201)
          : page(revisions(sim))
    default:
      return json({ ...sim.pipeline, definition: { name }, definition_yaml: sim.yaml })
  }
}

function statusOf(world: World, sim: Simulated): PipelineStatus {
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
    pipeline,
    conditions: [
      condition('Stable', pipeline.operation === null, 'Desired and observed state agree.'),
      condition('PositionsSafe', pipeline.phase !== 'BLOCKED', 'Ledger and checkpoint agree.'),
      condition('LedgerBalanced', true, 'Every record is accounted for.'),
      condition('Supervised', pipeline.supervised, 'The worker of its host ticks every second.'),
    ],
    run: sim.runs[0] ?? null,
    queries: world.queries(sim),
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
              suggestion: 'Decide where to go on; 1,204 records are gone from the broker.',
              severity: 'error',
              line: null,
              column: null,
            },
          ]
        : [],
  }
}

function summary(sim: Simulated): LedgerSummary {
  const filtered = Math.floor(sim.read / 50)
  const totals = {
    read: sim.read,
    delivered: sim.read - filtered,
    filtered,
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

function batches(sim: Simulated) {
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

function revisions(sim: Simulated) {
  return [2, 1].slice(2 - (sim.pipeline.revision ?? 2)).map((number) => ({
    number,
    digest: String(number).repeat(64),
    created_at: iso(Date.parse(sim.pipeline.created_at) + number * 3_600_000),
    created_by: 'admin',
    note: number === 1 ? '' : 'Only JSON objects',
    definition: { name: sim.pipeline.name },
  }))
}

const diff = {
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

function hosts(world: World) {
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
    },
  ]
}

function runLog(url: URL): Response {
  const from = Number(url.searchParams.get('offset') ?? 0)
  const levels = ['INFO', 'INFO', 'INFO', 'WARN', 'INFO', 'ERROR']
  const count = url.searchParams.has('offset') ? 1 : 120
  const lines = Array.from({ length: count }, (_, index) => {
    const level = levels[(from + index * 7) % 19] ?? 'INFO'
    return `26/11/21 04:${String(index % 60).padStart(2, '0')}:11 ${level} MicroBatchExecution: batch ${from + index} committed, 1,024 rows in 312 ms`
  })
  const text = `${lines.join('\n')}\n`
  return json({ text, offset: from + text.length, size: 220_000 + from, rotated: false })
}

function stream(world: World, signal: AbortSignal): Response {
  const encoder = new TextEncoder()
  return new Response(
    new ReadableStream({
      start(controller) {
        const send = (text: string) => controller.enqueue(encoder.encode(text))
        send(`event: hello\ndata: ${JSON.stringify({ server_time: iso(Date.now()) })}\n\n`)
        const stop = world.subscribe(({ event, data }) => {
          const id = event === 'event' ? `id: ${data.id}\n` : ''
          send(`${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
        })
        signal.addEventListener('abort', stop)
      },
    }),
    { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } },
  )
}

export { World, yamlOf }
