import type { Finding, WebhookDelivery, WebhookRequest } from '@/api/types'
import { Problem } from '@/api/problem'

export const STATE_WORDS: Record<WebhookDelivery['state'], string> = {
  WAITING: 'Waiting',
  SENDING: 'Sending',
  DELIVERED: 'Delivered',
  FAILED: 'Failed',
}

/** What a user has typed into the form. */
export interface Draft {
  url: string
  events: string
  secret: string | null
  /** The one before it, while receivers still know that. */
  former: string | null
  description: string
}

const reference = (name: string) => `\${secret:${name}}`

/** The name in a reference, or the text where it is none. */
export const secretName = (text: string) => /^\$\{secret:(.+)\}$/.exec(text)?.[1] ?? text

/** The draft as the API takes it; types of events stand apart by commas or spaces. */
export function requestOf({ url, events, secret, former, description }: Draft): WebhookRequest {
  return {
    url: url.trim(),
    events: events.split(/[\s,]+/).filter(Boolean),
    secrets: [secret, former].filter((name) => name !== null).map(reference),
    description,
    enabled: true,
  }
}

/** What has to be written before anything can be asked of the server; null where that is all there. */
export function missing({ url, events, secret }: Draft): string | null {
  if (url.trim() === '') return 'Enter the URL first.'
  if (events.trim() === '') return 'Enter the event types first, or * for all.'
  return secret === null ? 'Choose the signing secret first.' : null
}

export const findingsOf = (error: unknown): Finding[] => (error instanceof Problem ? error.findings : [])

/** The words at a field of the form: those of every finding at its path or below. */
export function wordsAt(findings: Finding[], field: 'url' | 'events' | 'secrets'): string | null {
  const words = findings
    .filter(({ path }) => path === field || path.startsWith(`${field}[`))
    .map(({ message, suggestion }) => `${message} ${suggestion}`.trim())
  return words.length > 0 ? words.join(' ') : null
}
