import definitionSchema from '../definition-schema.json' with { type: 'json' }
import type { ActionKind, EventCategory, Finding, ReadOnlyMode } from '../src/api/types'
import vocabulary from '../src/domain/vocabulary.json' with { type: 'json' }
import { planned, planOf, positions } from './positions.ts'
import { batches, diff, fleet, flow, hosts, revisions, statusOf, summary, topology } from './answers.ts'
import { charts, partitionCharts } from './charts.ts'
import { CLUSTERS, connection, installation, INTERCEPTORS, RULES, SETTINGS } from './installation.ts'
import { iso, type Simulated } from './seed.ts'
import { World } from './world.ts'

const json = (body: unknown, code = 200) => Response.json(body, { status: code })

function problem(status: number, code: string, detail: string, more = {}): Response {
  return json(
    { type: `urn:headgate:problem:${code}`, title: detail, status, detail, code, hint: '', ...more },
    status,
  )
}

const page = (results: unknown[]) => json({ results, next: null })

const NONE_WORKS = 'The simulated world has no agents to migrate.'
/** Lists that are empty in this world. */
const UNMOVED = [
  '/migrations',
  '/evacuations',
  '/freezes',
  '/approval-policies',
  '/alerts',
  '/silences',
  '/receivers',
  '/allowed-roots',
  '/allowed-networks',
]

/** The kinds that the filter of a list of events names; undefined for all. */
function eventKinds(query: URLSearchParams): string[] | undefined {
  const categories = query.getAll('category') as EventCategory[]
  const kinds = [
    ...query.getAll('kind'),
    ...categories.flatMap((name) => vocabulary.eventCategories[name].kinds),
  ]
  return kinds.length > 0 ? kinds : undefined
}

/** Answers one request of REST /api/v1 out of the simulated world. */
export async function handle(world: World, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const path = url.pathname.replace('/api/v1', '')
  const body = ['POST', 'PUT', 'PATCH'].includes(request.method)
    ? ((await request.json().catch(() => ({}))) as Record<string, unknown>)
    : {}
  if (path === '/session') return session(world, request.method, body)
  if (!world.session) return problem(401, 'not_authenticated', 'Log in first.')
  if (path === '/events' && request.headers.get('accept')?.includes('text/event-stream'))
    return stream(world, request.signal)
  if (path === '/events') {
    const name = url.searchParams.get('pipeline')
    const wanted = eventKinds(url.searchParams)
    const found = world.events.filter((event) => !name || event.pipeline === name)
    return page(found.filter(({ kind }) => !wanted || wanted.includes(kind)).slice(0, 60))
  }
  if (path === '/alerts/counts')
    return json({ open: 0, acknowledged: 0, severities: { critical: 0, warning: 0, info: 0 } })
  if (path === '/hosts') return json(hosts(world))
  if (path === '/installation/read-only') return json(readOnly(world, request.method, body))
  if (path === '/installation') return json(installation())
  if (path === '/installation/settings') return json(SETTINGS)
  if (path === '/installation/interceptors') return json(INTERCEPTORS)
  if (path === '/clusters') return page(CLUSTERS)
  if (path === '/clusters/analytics/test') return json(connection(request.method === 'POST'))
  if (path === '/alert-rules') return json(RULES)
  if (path === '/teams') return page([])
  if (path === '/definition-schema') return json(definitionSchema)
  if (UNMOVED.includes(path))
    return request.method === 'GET' ? page([]) : problem(409, 'nothing_moves', NONE_WORKS)
  if (path.startsWith('/secrets')) return onSecret(world, decodeURIComponent(path.slice(9)), request.method)
  if (path === '/operations')
    return page(world.operations.filter(({ pipeline }) => pipeline === url.searchParams.get('pipeline')))
  if (path.startsWith('/runs/')) return runLog(url)
  if (path === '/pipelines/validate') return json(validation(String(body.definition)))
  if (path === '/fleet') return page(fleet(world))
  if (path === '/pipelines') return request.method === 'POST' ? create(world, body) : list(world)
  return onPipeline(world, path, request, body)
}

function readOnly(world: World, method: string, body: Record<string, unknown>): ReadOnlyMode {
  if (method === 'PUT') {
    const on = body.read_only === true
    world.readOnly = {
      ...{ read_only: on, source: on ? 'administrator' : null, reason: String(body.reason) },
      ...{ set_by: world.session?.user ?? 'admin', since: new Date().toISOString(), etag: `"${Date.now()}"` },
    }
  }
  return world.readOnly
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
  return json({
    authenticated: world.session !== null,
    csrf_token: 'mock',
    provider: null,
    problem: null,
    waits_for_code: false,
    passkeys: false,
    enrolment_required: false,
    proof: 'password',
    everywhere: world.session?.role ?? null,
    read_only: world.readOnly.read_only ? world.readOnly : null,
    ...world.session,
  })
}

function onSecret(world: World, name: string, method: string): Response {
  if (name === '') return page([...world.secrets.values()])
  if (method === 'DELETE') {
    world.secrets.delete(name)
    return new Response(null, { status: 204 })
  }
  const version = (world.secrets.get(name)?.version ?? 0) + 1
  const by = world.session?.user ?? 'admin'
  const at = new Date().toISOString()
  const facts = {
    team: null,
    backend: 'store' as const,
    purpose: 'pipelines' as const,
    pipelines: ['*'],
    destinations: ['broker:9093'],
    unencrypted: [],
    last_used_at: null,
    last_used_by: '',
    outdated: [],
    created_at: at,
    created_by: by,
    updated_at: at,
    updated_by: by,
    readable: true,
    used_by: [],
    receivers: [],
  }
  world.secrets.set(name, { name, version, ...facts })
  return json(world.secrets.get(name))
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
    guarantees: [
      {
        source: 'shop',
        channel: 'main',
        guarantee: 'exactly_once',
        conditions: ['The topic is not compacted, and its retention is longer than an outage.'],
      },
    ],
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
  if (request.method === 'POST' && part === 'positions') return changePositions(sim, number, body)
  if (request.method === 'POST' && part && part !== 'revisions') {
    const answer = world.request(sim, part as ActionKind)
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
    case 'topology':
      return json(topology(sim))
    case 'ledger':
      if (number === 'flow')
        return json(flow(sim, Number(new URL(request.url).searchParams.get('minutes') ?? 15)))
      return number === 'summary' ? json(summary(sim)) : page(batches(sim))
    case 'dead-letters':
      return number === 'summary'
        ? json({ new: 0, retried: 0, discarded: 0, causes: [], more_causes: false })
        : page([])
    case 'quarantine':
      return json({ offered: [], ranges: [], operation: null })
    case 'range-replays':
      return page([])
    case 'charts': {
      const query = new URL(request.url).searchParams
      return json(number === 'partitions' ? partitionCharts(sim, query) : charts(sim, query))
    }
    case 'positions':
      return json(positions(sim))
    case 'runs':
      return page(sim.runs)
    case 'revisions':
      return sub === 'diff'
        ? json(diff)
        : request.method === 'POST'
          ? json(revisions(sim)[0], 201)
          : page(revisions(sim))
    default:
      return json({ ...sim.pipeline, definition: { name }, definition_yaml: sim.yaml, as_written: true })
  }
}

function changePositions(sim: Simulated, verb: string | undefined, body: Record<string, unknown>): Response {
  if (verb === 'plan') return json(planOf(sim, String(body.to)))
  const plan = planned(String(body.hash))
  return plan ? json({ ...plan, state: 'APPLIED' }) : problem(409, 'plan_stale', 'The pipeline has changed.')
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
  return json({ text, offset: from + text.length, size: 220_000 + from, rotated: false, components: [] })
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

export { World }
