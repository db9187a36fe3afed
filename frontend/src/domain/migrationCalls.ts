import type {
  ApprovalPolicyRequest,
  EvacuationRequest,
  FreezeRequest,
  MigrationDetail,
  MigrationRequest,
} from '@/api/types'
import { type Call, command, reasonFlag } from './calls'
import { curl, shellQuote, shellWord } from './curl'
import { HIDDEN, hidesValue } from './hidden'
import { changedRules } from './observationRules'
import { definitionText, writtenPosition } from './written'

type Named = Pick<MigrationDetail, 'id' | 'plan_hash'>
type Deed = 'plan' | 'approve' | 'begin' | 'advance' | 'abort' | 'close' | 'rollback' | 'revert'

const FLAGS: Record<string, (spec: Record<string, unknown>) => string | null> = {
  revision: ({ revision, definition }) =>
    revision ? `--revision ${shellWord(String(revision))}` : definition ? '-f -' : null,
  host: ({ host }) => `--host ${shellWord(String(host))}`,
  software: () => '--software',
  cluster: () => '--cluster -',
  position: (spec) => {
    const { to, source } = writtenPosition(spec)
    return `--to ${shellQuote(to)}${source ? ` --source ${shellWord(source)}` : ''}`
  },
}

/** What the command reads from its standard input; null where its flags say everything. */
function inputOf({ kind, spec }: MigrationRequest): string | null {
  if (kind === 'cluster') return clusterText(spec)
  return spec.definition ? definitionText(spec.definition) : null
}

/** The move alone; its rules and gates are flags. */
function clusterText(spec: MigrationRequest['spec']): string {
  const own = Object.entries(spec).filter(([name]) => name !== 'rules' && name !== 'gates')
  return JSON.stringify(Object.fromEntries(own))
}

const HIDDEN_NOTE = `A value is hidden. Replace ${HIDDEN} with \${secret:NAME} before you send this.`

/** Rules and gates as flags; null where the command line has none for one of them. */
function ruleFlags({ rules = {}, gates = [] }: MigrationRequest['spec']): string[] | null {
  const { window, then, ...others } = rules as Record<string, unknown>
  if (Object.keys(others).length > 0) return null
  return [
    ...(window === undefined ? [] : [`--observe ${shellWord(String(window))}`]),
    ...(then === 'ask' ? ['--confirm-commit'] : []),
    ...(gates as string[]).map((gate) => `--gate ${shellWord(gate)}`),
  ]
}

/** A migration to be planned, with everything that it needs; the note says where a part of that is hidden. */
export function createMigrationCall(body: MigrationRequest): Call {
  return {
    curl: curl('POST', '/api/v1/migrations', { body }),
    cli: planCommand(body),
    ...(hidesValue(body.spec) && { note: HIDDEN_NOTE }),
  }
}

function planCommand(body: MigrationRequest): string | null {
  const { pipeline, kind, reason, spec } = body
  const flag = FLAGS[kind]?.(spec) ?? null
  const rules = ruleFlags(spec)
  if (flag === null || rules === null) return null
  const plan = command(
    ['migrations', 'plan', shellWord(pipeline), flag, ...rules, ...reasonFlag(reason)].join(' '),
  )
  const input = inputOf(body)
  return input === null ? plan : `printf '%s' ${shellQuote(input)} | ${plan}`
}

/** Looking at a migration: what the pages of the wizard do again and again. */
export function watchCall({ id }: Pick<MigrationDetail, 'id'>): Call {
  return {
    curl: curl('GET', '/api/v1/migrations/{migration_id}', { path: { migration_id: id } }),
    cli: command(`migrations show ${shellWord(id)}`),
  }
}

export function evidenceCall({ id }: Pick<MigrationDetail, 'id'>): Call {
  return {
    curl: curl('GET', '/api/v1/migrations/{migration_id}/evidence', { path: { migration_id: id } }),
    cli: command(`migrations report ${shellWord(id)}`),
  }
}

export function timelineCall({ id }: Pick<MigrationDetail, 'id'>): Call {
  return {
    curl: curl('GET', '/api/v1/migrations/{migration_id}/timeline', { path: { migration_id: id } }),
    cli: command(`migrations timeline ${shellWord(id)}`),
  }
}

/** The verbs of the command line that differ from the last part of the path. */
const VERBS: Record<string, string> = { plan: 'replan', abort: 'cancel' }

/** What is requested of a migration. Closing one that requires action is the same request as cancelling it. */
export function deedCall(named: Named, deed: Deed, reason = '', acknowledge?: number): Call {
  if (deed === 'begin') return both(deedCall(named, 'approve'), deedCall(named, 'advance', '', acknowledge))
  const { id, plan_hash } = named
  const name = deed === 'close' ? 'abort' : deed
  const number = acknowledge === undefined ? {} : { acknowledge }
  const body =
    deed === 'approve' || deed === 'advance'
      ? { hash: plan_hash, ...number }
      : deed === 'plan'
        ? {}
        : { reason }
  const flags =
    'hash' in body
      ? [
          `--digest ${shellWord(plan_hash)}`,
          ...(acknowledge === undefined ? [] : [`--acknowledge ${acknowledge}`]),
        ]
      : reasonFlag(reason)
  const verb = VERBS[name] ?? name
  return {
    curl: curl('POST', `/api/v1/migrations/{migration_id}/${name}`, { path: { migration_id: id }, body }),
    cli: command(['migrations', verb, shellWord(id), ...flags].join(' ')),
  }
}

function both(first: Call, second: Call): Call {
  return { curl: `${first.curl}\n${second.curl}`, cli: `${first.cli}\n${second.cli}` }
}

export function evacuateCall(body: EvacuationRequest): Call {
  const { host, at_once, go_on, rules, reason } = body
  const asked = ruleFlags({ rules: rules ? changedRules(rules) : {} })
  const flags = [
    `--parallel ${at_once}`,
    ...(go_on ? ['--continue-on-failure'] : []),
    ...(asked ?? []),
    ...reasonFlag(reason),
  ]
  return {
    curl: curl('POST', '/api/v1/evacuations', { body }),
    cli: asked && command(['hosts evacuate', shellWord(host), ...flags].join(' ')),
  }
}

export function cancelEvacuationCall(id: string): Call {
  return {
    curl: curl('DELETE', '/api/v1/evacuations/{evacuation_id}', { path: { evacuation_id: id } }),
    cli: null,
  }
}

export function freezeCall(body: FreezeRequest): Call {
  return { curl: curl('POST', '/api/v1/freezes', { body }), cli: null }
}

export function endFreezeCall(id: number): Call {
  return { curl: curl('DELETE', '/api/v1/freezes/{freeze_id}', { path: { freeze_id: id } }), cli: null }
}

export function approvalPolicyCall(body: ApprovalPolicyRequest): Call {
  return { curl: curl('POST', '/api/v1/approval-policies', { body }), cli: null }
}

export function removeApprovalPolicyCall(id: number): Call {
  return {
    curl: curl('DELETE', '/api/v1/approval-policies/{policy_id}', { path: { policy_id: id } }),
    cli: null,
  }
}
