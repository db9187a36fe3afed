import createClient from 'openapi-fetch'
import { noteDatabase } from './database'
import { isPresent } from './presence'
import { Problem, Unreachable } from './problem'
import type { paths } from './schema'
import type { ProblemBody } from './types'

const TIMEOUT_MS = 15_000
/** The worker of a host is asked, and may take half a minute. */
const PATIENT_MS = 40_000

/** What the client needs to know of the page, set once at start: the CSRF token, and the callbacks for two facts. */
export const hooks = {
  csrfToken: '',
  onAnswer: (): void => {},
  onLoggedOut: (): void => {},
}

/** The typed client: paths, parameters, bodies and answers are checked against the OpenAPI schema by the compiler. */
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: 'same-origin',
  fetch: (request) => bounded(request, TIMEOUT_MS),
})

async function bounded(request: Request, ms: number): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(ms)]) })
  } catch (error) {
    if (request.signal.aborted) throw error
    throw new Unreachable({ cause: error })
  }
}

/** `fetch` for the few requests whose answer takes longer. */
export const patiently = (request: Request) => bounded(request, PATIENT_MS)

api.use({
  onRequest: ({ request }) => {
    if (request.method !== 'GET') request.headers.set('X-CSRFToken', hooks.csrfToken)
    if (!isPresent()) request.headers.set('X-Headgate-Idle', 'true')
    return request
  },
  onResponse: ({ response }) => {
    hooks.onAnswer()
    if (response.status === 401) hooks.onLoggedOut()
  },
})

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The data of an answer; raises Problem where the server refused or failed. */
export async function take<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer
  const refusal = response.ok ? null : new Problem(response.status, problemBody(error))
  noteDatabase(refusal?.databaseAway ?? false)
  if (refusal) throw refusal
  return data as T
}

function problemBody(error: unknown): Partial<ProblemBody> {
  return typeof error === 'object' && error !== null ? error : {}
}
