import { Problem, type ProblemBody } from './problem'

export type Query = Record<string, string | number | boolean | null | undefined>

interface RequestOptions {
  query?: Query
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
  timeoutMs?: number
}

const DEFAULT_TIMEOUT_MS = 15_000

/** What the client needs to know of the page, set once at start: the CSRF token, and whom to tell about two facts. */
export const hooks = {
  csrfToken: '',
  onAnswer: (): void => {},
  onLoggedOut: (): void => {},
}

export const api = {
  get: <T>(path: string, options?: RequestOptions) => request<T>('GET', path, options),
  post: <T>(path: string, options?: RequestOptions) => request<T>('POST', path, options),
  patch: <T>(path: string, options?: RequestOptions) => request<T>('PATCH', path, options),
  delete: <T = void>(path: string, options?: RequestOptions) => request<T>('DELETE', path, options),
}

export function url(path: string, query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value != null && value !== '') search.set(key, String(value))
  }
  const text = search.toString()
  return `/api/v1${path}${text ? `?${text}` : ''}`
}

async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(method, path, options)
  hooks.onAnswer()
  if (response.ok) return (await read(response)) as T
  const problem = new Problem(response.status, await problemBody(response))
  if (isLoggedOut(problem)) hooks.onLoggedOut()
  throw problem
}

async function send(method: string, path: string, options: RequestOptions): Promise<Response> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  return fetch(new URL(url(path, options.query), window.location.origin), {
    method,
    credentials: 'same-origin',
    headers: headersFor(method, options),
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
    signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
  })
}

function headersFor(method: string, options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (options.body !== undefined) headers['Content-Type'] = 'application/json'
  if (method !== 'GET') headers['X-CSRFToken'] = hooks.csrfToken
  return { ...headers, ...options.headers }
}

async function read(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  return response.json()
}

async function problemBody(response: Response): Promise<ProblemBody> {
  try {
    return (await response.json()) as ProblemBody
  } catch {
    return {}
  }
}

function isLoggedOut(problem: Problem): boolean {
  return problem.status === 401 || problem.code === 'not_authenticated'
}
