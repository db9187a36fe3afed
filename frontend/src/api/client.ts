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
  /** Has the user show again to be who it is; whether it did. */
  prove: (): Promise<boolean> => Promise.resolve(false),
}

/** The typed client: paths, parameters, bodies and answers are checked against the OpenAPI schema by the compiler. */
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: 'same-origin',
  fetch: (request) => proven(request),
})

/** A dangerous request is refused while the log-in is old; once the user has confirmed it, it is sent again. */
async function proven(request: Request): Promise<Response> {
  if (request.method === 'GET') return bounded(request, TIMEOUT_MS)
  const again = request.clone()
  const response = await bounded(request, TIMEOUT_MS)
  if (response.status !== 403 || (await codeOf(response)) !== 'reauthentication_required') return response
  if (!(await hooks.prove())) return response
  again.headers.set('X-CSRFToken', hooks.csrfToken)
  return bounded(again, TIMEOUT_MS)
}

async function codeOf(response: Response): Promise<string | undefined> {
  const body = (await response
    .clone()
    .json()
    .catch(() => ({}))) as Partial<ProblemBody>
  return body.code
}

async function bounded(request: Request, ms: number): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(ms)]) })
  } catch (error) {
    if (request.signal.aborted) throw error
    throw new Unreachable({ cause: error, ofChange: request.method !== 'GET' })
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
