import { Problem } from '@/api/problem'
import type { ChangeBody, ChangeKind, ChangeRequest, Session } from '@/api/types'
import { type Call, command } from './calls'
import { curl, shellQuote, shellWord } from './curl'

/** What each kind of governed change is called on the page. */
export const CHANGES: Record<ChangeKind, string> = {
  start: 'Start',
  pause: 'Pause',
  resume: 'Resume',
  stop: 'Stop',
  'force-stop': 'Force stop',
  restart: 'Restart',
  cancel: 'Cancel operation',
  publish: 'Publish revision',
  positions: 'Set positions',
  quarantine: 'Quarantine records',
  replay: 'Replay range',
  delete: 'Delete pipeline',
  reconcile: 'Set source of truth',
  'declare-lost': 'Declare run lost',
}

/** The refusal of a change that approvals or a freeze govern; null for any other error. */
export function governed(error: unknown): Problem | null {
  if (!(error instanceof Problem)) return null
  return error.code === 'approval_required' || error.code === 'change_frozen' ? error : null
}

/** Why this user may not approve the request; null where the user may. */
export function cannotApprove(request: ChangeRequest, session: Session | undefined): string | null {
  if (request.state === 'APPROVED') return 'This change is already approved.'
  return request.created_by === session?.user
    ? 'You requested this change. Other users approve it.'
    : outdated(request)
}

/** Why the request cannot be applied now; null where it can. */
export function cannotApply(request: ChangeRequest): string | null {
  if (request.state !== 'APPROVED') return 'This change is not approved yet.'
  return outdated(request) ?? request.frozen[0] ?? null
}

const outdated = ({ stale }: ChangeRequest) =>
  stale ? 'The pipeline has changed since. Cancel the request, and request the change again.' : null

export function requestCall(name: string, body: ChangeBody): Call {
  const words = commandOf(name, body)
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/change-requests', { path: { name }, body }),
    cli: words && command(`${words} --request ${shellQuote(body.reason || 'REASON')}`),
  }
}

const ACTIONS: readonly ChangeKind[] = ['start', 'pause', 'resume', 'stop', 'force-stop', 'restart']

/** The command that has the option; null where the command needs more than the page knows here. */
function commandOf(name: string, { kind, arguments: given = {} }: ChangeBody): string | null {
  const onTimeout = given.on_timeout ? ` --on-timeout ${shellWord(String(given.on_timeout))}` : ''
  if (ACTIONS.includes(kind))
    return `${kind} ${shellWord(name)}${given.drain === false ? ' --no-drain' : ''}${onTimeout}`
  return kind === 'positions' ? `positions apply ${shellWord(name)} ${shellWord(String(given.hash))}` : null
}
