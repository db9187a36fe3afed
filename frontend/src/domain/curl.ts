import type { paths } from '@/api/schema'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The paths of the API's schema that answer a method. */
type Path<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<Lowercase<M>, object> ? P : never
}[keyof paths]

type Operation<M extends Method, P extends keyof paths> = P extends keyof paths
  ? paths[P][Lowercase<M> & keyof paths[P]]
  : never

type Parts<O> = O extends { parameters: { path: infer T extends object } }
  ? { path: Record<keyof T, string | number> }
  : { path?: never }

type Content<O> = O extends { requestBody?: { content: { 'application/json': infer T } } } ? T : never

type Body<O> =
  unknown extends Content<O>
    ? { body?: Record<string, never> }
    : { body: Partial<Content<O>> } | { file: string }

type Query<O> = O extends { parameters: { query?: infer T } } ? { query?: Partial<T> } : { query?: never }

type Given<O> = Parts<O> & Query<O> & Body<O> & { headers?: Record<string, string> }

interface Plain {
  path?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
  file?: string
  headers?: Record<string, string>
}

/** A request as a command of curl. The compiler checks path, parts and body against the API's schema; `file` names a
 * definition in YAML that is sent instead of a body. */
export function curl<M extends Method, P extends Path<M>>(
  method: M,
  path: P,
  given: Given<Operation<M, P>>,
): string {
  const plain = given as Plain
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => String(plain.path?.[name]))
  const headers = { ...plain.headers, ...typeOf(plain) }
  return [
    `curl -X ${method} ${shellWord(window.location.origin + address + queryOf(plain))}`,
    `  -H "Authorization: Token $HEADGATE_TOKEN"`,
    ...Object.entries(headers).map(([name, value]) => `  -H ${shellQuote(`${name}: ${value}`)}`),
    ...dataOf(plain),
  ].join(' \\\n')
}

function queryOf({ query = {} }: Plain): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length > 0 ? `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}` : ''
}

function typeOf({ body, file }: Plain): Record<string, string> {
  if (file !== undefined) return { 'Content-Type': 'application/yaml' }
  return body === undefined ? {} : { 'Content-Type': 'application/json' }
}

function dataOf({ body, file }: Plain): string[] {
  if (file !== undefined) return [`  --data-binary ${shellWord(`@${file}`)}`]
  return body === undefined ? [] : [`  -d ${shellQuote(JSON.stringify(body))}`]
}

export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

const PLAIN = /^[\w@+:,./-]+$/

/** What a user wrote as one word of a command; quoted only where a shell would read more in it. */
export const shellWord = (text: string) => (PLAIN.test(text) ? text : shellQuote(text))
