import type {
  ActionKind,
  Believe,
  DrainBody,
  QuarantineRequest,
  ReplayRange,
  ReplayRequest,
  WebhookRequest,
} from '@/api/types'

/** The same action as an API call, and as a CLI command where there is one. */
export interface Call {
  curl: string
  cli: string | null
  /** What has to be done before it can be sent. */
  note?: string
}

interface Request {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  headers?: Record<string, string>
  /** The flag that gives the body to curl. */
  body?: { flag: string; type: string }
}

const origin = () => window.location.origin
export const command = (words: string) => `headgate --url ${shellWord(origin())} ${words}`

export function actionCall(name: string, kind: ActionKind, body: Record<string, unknown> = {}): Call {
  const onTimeout = body.on_timeout ? ` --on-timeout ${shellWord(String(body.on_timeout))}` : ''
  const flags = `${body.drain === false ? ' --no-drain' : ''}${onTimeout}`
  return {
    ...requestCall({ method: 'POST', path: `/pipelines/${name}/${kind}`, body: jsonBody(body) }),
    cli: command(`${kind} ${shellWord(name)}${flags} --wait`),
  }
}

/** Which dead letters, as the API wants them; the command line names the same ones. */
export function replayCall(name: string, body: ReplayCallBody): Call {
  const narrow = Object.entries(body.filter ?? {}).filter(([, value]) => value)
  const which = body.filter
    ? ['--all', ...narrow.map(([key, value]) => `--${key} ${shellQuote(String(value))}`)]
    : body.repair
      ? [shellWord(body.repair.id), '--body FILE']
      : (body.ids ?? []).map(shellWord)
  const rate = body.rate ? ` --rate ${body.rate}` : ''
  return {
    ...requestCall({ method: 'POST', path: `/pipelines/${name}/dead-letters/replay`, body: jsonBody(body) }),
    cli: command(`dead-letters retry ${shellWord(name)} ${which.join(' ')}${rate} --wait`),
  }
}

type ReplayCallBody = Partial<Pick<ReplayRequest, 'ids' | 'filter' | 'repair' | 'rate'>>

/** The decision about positions, after its plan was reviewed. */
export function applyPositionsCall(name: string, hash: string): Call {
  return {
    ...requestCall({ method: 'POST', path: `/pipelines/${name}/positions/apply`, body: jsonBody({ hash }) }),
    cli: command(`positions apply ${shellWord(name)} ${shellWord(hash)}`),
  }
}

/** Records set aside; the command line takes the last offset, the API the one behind it. */
export function quarantineCall(name: string, body: QuarantineRequest): Call {
  const ranges = body.ranges.map(
    ({ source, channel, topic, partition, start, end }) =>
      `--range ${shellQuote(`${source}.${channel}:${topic}/${partition}:${start}-${end - 1}`)}`,
  )
  const words = [
    'quarantine add',
    shellWord(name),
    ...ranges,
    ...reasonFlag(body.reason),
    ...(body.start ? ['--start'] : []),
  ]
  return {
    ...requestCall({ method: 'POST', path: `/pipelines/${name}/quarantine`, body: jsonBody(body) }),
    cli: command(words.join(' ')),
  }
}

export function reconcileCall(name: string, believe: Believe, reason: string): Call {
  const body = { believe, reason }
  return {
    ...requestCall({ method: 'POST', path: `/pipelines/${name}/reconcile`, body: jsonBody(body) }),
    cli: command(
      ['hosts reconcile', shellWord(name), '--source-of-truth', believe, ...reasonFlag(reason)].join(' '),
    ),
  }
}

export function declareLostCall(name: string): Call {
  const body = jsonBody({ confirm: name })
  return {
    ...requestCall({ method: 'POST', path: `/pipelines/${name}/declare-lost`, body }),
    cli: command(`runs declare-lost ${shellWord(name)} --confirm ${shellWord(name)}`),
  }
}

/** A range that was planned; the command plans it again and prompts for confirmation. */
export function rangeReplayCall(name: string, range: ReplayRange, hash: string, reason: string): Call {
  const { topic, partition, start, end, source, channel } = range
  const where = `--partition ${shellQuote(`${topic}/${partition}`)} --from ${start} --to ${end}`
  const query = [
    ...(source ? [`--source ${shellWord(source)}`] : []),
    ...(channel ? [`--channel ${shellWord(channel)}`] : []),
  ]
  return {
    ...requestCall({
      method: 'POST',
      path: `/pipelines/${name}/range-replays`,
      body: jsonBody({ ...range, hash, reason }),
    }),
    cli: command(['replays start', shellWord(name), where, ...query, ...reasonFlag(reason)].join(' ')),
  }
}

export function drainCall(host: string, body: DrainBody): Call {
  return {
    ...requestCall({ method: 'POST', path: `/hosts/${host}/drain`, body: jsonBody(body) }),
    cli: command(`hosts drain ${shellWord(host)} --on-timeout ${body.on_timeout}`),
  }
}

export function removeHostCall(host: string): Call {
  return {
    ...requestCall({ method: 'DELETE', path: `/hosts/${host}` }),
    cli: command(`hosts remove ${shellWord(host)}`),
  }
}

/** Adding an endpoint, or changing the one with this number. */
export function webhookCall(id: number | null, body: Partial<WebhookRequest>): Call {
  const flags = [
    ...(body.events ?? []).map((event) => `--event ${shellQuote(event)}`),
    ...(body.secrets ?? []).map((secret) => `--secret ${shellQuote(secret)}`),
    ...(body.description ? [`--description ${shellQuote(body.description)}`] : []),
  ].join(' ')
  const url = shellQuote(body.url ?? '')
  return {
    ...requestCall({
      method: id === null ? 'POST' : 'PATCH',
      path: id === null ? '/webhooks' : `/webhooks/${id}`,
      body: jsonBody(body),
    }),
    cli: command(
      id === null ? `webhooks add ${url} ${flags}` : `webhooks update ${id} --url ${url} ${flags}`,
    ),
  }
}

export function reasonFlag(reason: string | undefined): string[] {
  return reason ? [`--reason ${shellQuote(reason)}`] : []
}

export function deleteCall(name: string): Call {
  return { ...requestCall({ method: 'DELETE', path: `/pipelines/${name}` }), cli: null }
}

export function editCall(name: string, etag: string, fields: unknown): Call {
  const headers = { 'If-Match': etag }
  return {
    ...requestCall({ method: 'PATCH', path: `/pipelines/${name}`, headers, body: jsonBody(fields) }),
    cli: null,
  }
}

/** Creating and publishing send a file, so the calls name one instead of repeating it. */
export function applyCall(name: string, publish: boolean): Call {
  const file = `${name || 'pipeline'}.yaml`
  const body = {
    flag: `--data-binary ${shellWord(`@${file}`)}`,
    type: 'application/yaml',
  }
  return {
    ...requestCall({ method: 'POST', path: publish ? `/pipelines/${name}/revisions` : '/pipelines', body }),
    cli: command(`apply -f ${shellWord(file)}`),
  }
}

export function jsonBody(value: unknown): Request['body'] {
  return {
    flag: `-d ${shellQuote(JSON.stringify(value))}`,
    type: 'application/json',
  }
}

export function requestCall(request: Request): Omit<Call, 'cli'> {
  return { curl: curl(request) }
}

const addressOf = ({ path }: Request) => `${origin()}/api/v1${path}`

function headersOf({ headers = {}, body }: Request): [string, string][] {
  return Object.entries({ ...headers, ...(body && { 'Content-Type': body.type }) })
}

function curl(request: Request): string {
  const { method, body } = request
  const headers = headersOf(request).map(([key, value]) => `  -H ${shellQuote(`${key}: ${value}`)}`)
  return [
    `curl -X ${method} ${shellWord(addressOf(request))}`,
    `  -H "Authorization: Token $HEADGATE_TOKEN"`,
    ...headers,
    ...(body ? [`  ${body.flag}`] : []),
  ].join(' \\\n')
}

export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

const PLAIN = /^[\w@+:,./-]+$/

/** What a user wrote as one word of a command; quoted only where a shell would read more in it. */
export const shellWord = (text: string) => (PLAIN.test(text) ? text : shellQuote(text))
