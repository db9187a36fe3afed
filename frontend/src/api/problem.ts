import type { Finding, ProblemBody } from './types'

/** A refused or failed request, with the server's RFC 9457 body where it sent one. */
export class Problem extends Error {
  readonly status: number
  readonly body: Partial<ProblemBody>

  constructor(status: number, body: Partial<ProblemBody>) {
    super(body.detail || body.title || fallbackText(status))
    this.name = 'Problem'
    this.status = status
    this.body = body
  }

  get code(): string {
    return this.body.code ?? `http_${this.status}`
  }

  /** The server answers and its database does not: nothing was changed, and the same request works later. */
  get databaseAway(): boolean {
    return this.status === 503 && this.body.code === 'database_unavailable'
  }

  get hint(): string {
    return this.body.hint ?? ''
  }

  get findings(): Finding[] {
    return this.body.findings ?? []
  }
}

/** A failure that the server tells in an answer, as the error it would have been. */
export function refusal(told: { code: string; detail: string; hint: string }): Problem {
  return new Problem(403, told)
}

/** A request without an answer: the connection failed, or the time was up. A change may have been made all the same. */
export class Unreachable extends Error {
  readonly ofChange: boolean

  constructor(options?: ErrorOptions & { ofChange?: boolean }) {
    super(options?.ofChange ? 'The server did not answer.' : 'The server cannot be reached.', options)
    this.name = 'Unreachable'
    this.ofChange = options?.ofChange ?? false
  }

  get hint(): string {
    return this.ofChange
      ? 'The change may have been made. Try again only if the page does not show it once it is live again.'
      : 'Check that Headgate is running. The page retries automatically.'
  }
}

function fallbackText(status: number): string {
  return status >= 500 ? `The server failed (${status}).` : `The server rejected the request (${status}).`
}

/** One sentence and what to do next, for any error that reaches the page. */
export function explain(error: unknown): { text: string; hint: string; requestId?: string } {
  if (error instanceof Problem) {
    return { text: error.message, hint: error.hint, requestId: error.body.request_id }
  }
  if (error instanceof Unreachable) {
    return { text: error.message, hint: error.hint }
  }
  const reason = error instanceof Error ? error.message : String(error)
  return {
    text: 'The dashboard has a defect here.',
    hint: `Reload the page. If it fails again, report: ${reason}`,
  }
}
