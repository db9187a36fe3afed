import type { Receiver, ReceiverDelivery, ReceiverKind, ReceiverRequest, Severity } from '@/api/types'

export const STATE_WORDS: Record<ReceiverDelivery['state'], string> = {
  WAITING: 'Waiting',
  SENDING: 'Sending',
  DELIVERED: 'Delivered',
  FAILED: 'Failed',
  SUPPRESSED: 'Suppressed',
}

/** What a user has typed into the form. */
export interface Draft {
  kind: ReceiverKind
  url: string
  events: string
  secret: string | null
  /** The one before it, while receivers still know that. */
  former: string | null
  description: string
  labels: string
  rules: string
  severities: Severity[]
  recipients: string
  sender: string
}

/** What a receiver has that the form does not show. */
export type Kept = Pick<Receiver, 'matchers' | 'email'> | undefined

const DEFAULT_EVENTS: Record<ReceiverKind, string> = {
  webhook: 'alert.*',
  slack: 'alert.opened, alert.resolved',
  pagerduty: 'alert.*',
  email: 'alert.opened, alert.resolved',
}

/** The form as it opens for a receiver, or for a new one of a kind. */
export function draftOf(receiver: Receiver | undefined, kind: ReceiverKind = 'webhook'): Draft {
  const [secret = null, former = null] = (receiver?.secrets ?? []).map(secretName)
  const { url = '', description = '', matchers, email } = receiver ?? {}
  return {
    kind: receiver?.kind ?? kind,
    url,
    events: receiver?.events.join(', ') ?? (kind === 'webhook' ? '' : DEFAULT_EVENTS[kind]),
    secret,
    former,
    description,
    labels: matchers?.labels.join(', ') ?? '',
    rules: matchers?.rules.join(', ') ?? '',
    severities: (matchers?.severities ?? []) as Severity[],
    recipients: email?.recipients.join(', ') ?? '',
    sender: email?.sender ?? '',
  }
}

const reference = (name: string) => `\${secret:${name}}`

/** The name in a reference, or the text where it is none. */
export const secretName = (text: string) => /^\$\{secret:(.+)\}$/.exec(text)?.[1] ?? text

const words = (text: string) => text.split(/[\s,]+/).filter(Boolean)
/** Values of labels may have spaces. */
const parts = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)

/** The draft as the API takes it; types of events stand apart by commas or spaces. */
export function requestOf(draft: Draft, team: string | null, kept?: Kept): ReceiverRequest {
  const { kind, url, events, secret, former, description } = draft
  const none = { pipelines: [], labels: [], rules: [], severities: [] }
  return {
    team,
    kind,
    url: kind === 'webhook' || kind === 'pagerduty' ? url.trim() : '',
    events: words(events),
    secrets: [secret, kind === 'webhook' ? former : null].filter((name) => name !== null).map(reference),
    matchers: {
      ...(kept?.matchers ?? none),
      labels: parts(draft.labels),
      rules: words(draft.rules),
      severities: draft.severities,
    },
    email: kind === 'email' ? emailOf(draft, kept) : null,
    description,
    enabled: true,
  }
}

const OWN_SERVER = { host: '', port: 587, tls: 'starttls', user: '' }

function emailOf({ recipients, sender }: Draft, kept: Kept): NonNullable<ReceiverRequest['email']> {
  return { ...(kept?.email ?? OWN_SERVER), recipients: words(recipients), sender: sender.trim() }
}

/** What has to be written before anything can be asked of the server; null where that is all there. */
export function missing({ kind, url, events, secret, recipients }: Draft): string | null {
  if (kind === 'webhook' && url.trim() === '') return 'Enter the URL first.'
  if (kind === 'email' && recipients.trim() === '') return 'Enter a recipient first.'
  if (events.trim() === '') return 'Enter the event types first, or * for all.'
  if (kind === 'email' || secret !== null) return null
  return kind === 'webhook' ? 'Choose the signing secret first.' : 'Choose the secret first.'
}

/** Paths of the findings that stand at fields of the form. */
export const FIELDS = [
  'team',
  'url',
  'events',
  'secrets',
  'email.recipients',
  'email.sender',
  'matchers.labels',
  'matchers.rules',
  'matchers.severities',
] as const

export type Field = (typeof FIELDS)[number]
