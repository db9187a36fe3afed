import type { AuditFilter } from '@/api/audit'
import type {
  ActionKind,
  Matchers,
  SourceOfTruth,
  DrainBody,
  QuarantineRequest,
  ReplayRange,
  ReplayRequest,
  ReceiverRequest,
  RuleRequest,
} from '@/api/types'
import { curl, shellQuote, shellWord } from './curl'

/** The same action as an API call, and as a CLI command where there is one. */
export interface Call {
  curl: string
  cli: string | null
  /** What has to be done before it can be sent. */
  note?: string
}

export const command = (words: string) => `headgate --url ${shellWord(window.location.origin)} ${words}`

export function actionCall(name: string, kind: ActionKind, body: Record<string, unknown> = {}): Call {
  const onTimeout = body.on_timeout ? ` --on-timeout ${shellWord(String(body.on_timeout))}` : ''
  const flags = `${body.drain === false ? ' --no-drain' : ''}${onTimeout}`
  return {
    curl: curl('POST', `/api/v1/pipelines/{name}/${kind}`, { path: { name }, body }),
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
    curl: curl('POST', '/api/v1/pipelines/{name}/dead-letters/retry', { path: { name }, body }),
    cli: command(`dead-letters retry ${shellWord(name)} ${which.join(' ')}${rate} --wait`),
  }
}

type ReplayCallBody = Partial<Pick<ReplayRequest, 'ids' | 'filter' | 'repair' | 'rate'>>

/** The decision about positions, after its plan was reviewed. */
export function applyPositionsCall(name: string, hash: string): Call {
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/positions/apply', { path: { name }, body: { hash } }),
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
    curl: curl('POST', '/api/v1/pipelines/{name}/quarantine', { path: { name }, body }),
    cli: command(words.join(' ')),
  }
}

export function reconcileCall(name: string, source_of_truth: SourceOfTruth, reason: string): Call {
  const body = { source_of_truth, reason }
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/reconcile', { path: { name }, body }),
    cli: command(
      ['hosts reconcile', shellWord(name), '--source-of-truth', source_of_truth, ...reasonFlag(reason)].join(
        ' ',
      ),
    ),
  }
}

export function declareLostCall(name: string): Call {
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/declare-lost', { path: { name }, body: { confirm: name } }),
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
    curl: curl('POST', '/api/v1/pipelines/{name}/range-replays', {
      path: { name },
      body: { ...range, hash, reason },
    }),
    cli: command(['replays start', shellWord(name), where, ...query, ...reasonFlag(reason)].join(' ')),
  }
}

/** The rows of the audit that a filter leaves; the command line has each part as an option of its name. */
export function auditCall(filter: AuditFilter): Call {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  const options = given.map(([name, value]) => `--${name} ${shellQuote(String(value))}`)
  return {
    curl: curl('GET', '/api/v1/audit', { query: filter }),
    cli: command(['audit list', ...options].join(' ')),
  }
}

export const auditRowCall = (id: number): Call => ({
  curl: curl('GET', '/api/v1/audit/{row_id}', { path: { row_id: id } }),
  cli: command(`audit show ${id}`),
})

export function drainCall(host: string, body: DrainBody): Call {
  return {
    curl: curl('POST', '/api/v1/hosts/{name}/drain', { path: { name: host }, body }),
    cli: command(`hosts drain ${shellWord(host)} --on-timeout ${body.on_timeout}`),
  }
}

export function removeHostCall(host: string): Call {
  return {
    curl: curl('DELETE', '/api/v1/hosts/{name}', { path: { name: host } }),
    cli: command(`hosts remove ${shellWord(host)}`),
  }
}

export function deleteTeamCall(team: string): Call {
  return {
    curl: curl('DELETE', '/api/v1/teams/{team}', { path: { team } }),
    cli: command(`teams delete ${shellWord(team)}`),
  }
}

export function revokeTokenCall(token: string): Call {
  return {
    curl: curl('DELETE', '/api/v1/tokens/{token_key}', { path: { token_key: token } }),
    cli: command(`tokens revoke ${shellWord(token)}`),
  }
}

export function acknowledgeCall(id: number, note: string): Call {
  return {
    curl: curl('POST', '/api/v1/alerts/{alert_id}/acknowledge', { path: { alert_id: id }, body: { note } }),
    cli: command(`alerts acknowledge ${id}${note ? ` --note ${shellQuote(note)}` : ''}`),
  }
}

/** A rule's settings for one scope; the command line switches a threshold off by 0. */
export function alertRuleCall(rule: string, body: RuleRequest): Call {
  const flags = [
    body.label && `--label ${shellQuote(body.label)}`,
    body.pipeline && `--pipeline ${shellWord(body.pipeline)}`,
    ...(['records', 'seconds', 'deviations'] as const)
      .filter((name) => body[name] !== undefined)
      .map((name) => `--${name} ${body[name] ?? 0}`),
    body.for_seconds != null && `--for ${body.for_seconds}`,
    body.enabled != null && (body.enabled ? '--on' : '--off'),
  ]
  return {
    curl: curl('PUT', '/api/v1/alert-rules/{rule}', { path: { rule }, body }),
    cli: command(['alerts rules set', rule, ...flags.filter(Boolean)].join(' ')),
  }
}

const MATCHER_FLAGS = {
  pipelines: 'pipeline',
  labels: 'label',
  rules: 'rule',
  severities: 'severity',
} as const

/** Matchers as flags of the command line. */
function matcherFlags(matchers: Partial<Matchers> | undefined): string[] {
  return Object.entries(MATCHER_FLAGS).flatMap(([key, flag]) =>
    (matchers?.[key as keyof Matchers] ?? []).map((value) => `--${flag} ${shellQuote(value)}`),
  )
}

/** The instant that is so many hours away. */
export const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()

/** The API takes an instant, the command line a duration. */
export function silenceCall(matchers: Matchers, hours: number, comment: string, team: string | null): Call {
  const ends_at = inHours(hours)
  const words = [
    ...matcherFlags(matchers),
    `--for ${hours}h`,
    `--comment ${shellQuote(comment)}`,
    ...teamFlag(team),
  ].join(' ')
  return {
    curl: curl('POST', '/api/v1/silences', { body: { matchers, ends_at, comment, ...(team && { team }) } }),
    cli: command(`silences create ${words}`),
  }
}

/** Adding a receiver, or changing the one with this number. */
export function receiverCall(id: number | null, body: Partial<ReceiverRequest>): Call {
  const flags = [
    ...(body.url ? [`--url ${shellQuote(body.url)}`] : []),
    ...(body.email?.recipients ?? []).map((each) => `--to ${shellQuote(each)}`),
    ...(body.events ?? []).map((event) => `--event ${shellQuote(event)}`),
    ...matcherFlags(body.matchers),
    ...(body.secrets ?? []).map((secret) => `--secret ${shellQuote(secret)}`),
    ...(body.description ? [`--description ${shellQuote(body.description)}`] : []),
    ...teamFlag(body.team),
  ].join(' ')
  return {
    curl:
      id === null
        ? curl('POST', '/api/v1/receivers', { body })
        : curl('PATCH', '/api/v1/receivers/{receiver_id}', { path: { receiver_id: id }, body }),
    cli: command(
      id === null ? `receivers create ${body.kind ?? 'webhook'} ${flags}` : `receivers update ${id} ${flags}`,
    ),
  }
}

/** The team of something new; without it, what the server takes. */
const teamFlag = (team: string | null | undefined) => (team ? [`--team ${shellWord(team)}`] : [])

export function reasonFlag(reason: string | undefined): string[] {
  return reason ? [`--reason ${shellQuote(reason)}`] : []
}

export function deleteCall(name: string): Call {
  return { curl: curl('DELETE', '/api/v1/pipelines/{name}', { path: { name } }), cli: null }
}

export function editCall(name: string, etag: string, fields: object): Call {
  const headers = { 'If-Match': etag }
  return {
    curl: curl('PATCH', '/api/v1/pipelines/{name}', { path: { name }, headers, body: fields }),
    cli: null,
  }
}

/** Creating and publishing send a file, so the calls name one instead of repeating it. */
export function publishCall(name: string): Call {
  const file = `${name}.yaml`
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/revisions', { path: { name }, file }),
    cli: command(`apply -f ${shellWord(file)}`),
  }
}

/** A team is named beside the definition, which is text of the same body then. */
export function createCall(name: string, team: string | null): Call {
  const file = `${name || 'pipeline'}.yaml`
  return {
    curl:
      team === null
        ? curl('POST', '/api/v1/pipelines', { file })
        : curl('POST', '/api/v1/pipelines', { body: { definition: '…', team } }),
    cli: command(['apply -f', shellWord(file), ...teamFlag(team)].join(' ')),
    note: team === null ? undefined : 'Put the definition in the place of …, or in the file.',
  }
}
