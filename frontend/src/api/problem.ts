import type { AllowedAction, Finding } from './types'

export interface ProblemBody {
  type?: string
  title?: string
  status?: number
  detail?: string
  code?: string
  hint?: string
  findings?: Finding[]
  request_id?: string
  allowed_actions?: AllowedAction[]
}

/** A refused or failed request, with the server's RFC 9457 body where it sent one. */
export class Problem extends Error {
  readonly status: number
  readonly body: ProblemBody

  constructor(status: number, body: ProblemBody) {
    super(body.detail || body.title || fallbackText(status))
    this.name = 'Problem'
    this.status = status
    this.body = body
  }

  get code(): string {
    return this.body.code ?? `http_${this.status}`
  }

  get hint(): string {
    return this.body.hint ?? ''
  }

  get findings(): Finding[] {
    return this.body.findings ?? []
  }
}

function fallbackText(status: number): string {
  if (status === 0) return 'The server cannot be reached.'
  if (status >= 500) return `The server failed (${status}).`
  return `The request was refused (${status}).`
}

/** One sentence and what to do next, for any error that reaches the page. */
export function explain(error: unknown): { text: string; hint: string; requestId?: string } {
  if (error instanceof Problem) {
    return { text: error.message, hint: error.hint, requestId: error.body.request_id }
  }
  return {
    text: 'The server cannot be reached.',
    hint: 'Check that Headgate is up; the page tries again by itself.',
  }
}
