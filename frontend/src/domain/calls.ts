import type { OperationKind } from '@/api/types'

/** The same act as curl, as a headgate command and in Python. */
export interface Call {
  curl: string
  cli: string
  python: string
}

interface Request {
  method: 'POST' | 'PATCH' | 'DELETE'
  path: string
  body?: unknown
  headers?: Record<string, string>
}

const origin = () => window.location.origin

export function actionCall(name: string, kind: OperationKind, body: Record<string, unknown> = {}): Call {
  const flags = kind === 'stop' && body.drain === false ? ' --no-drain' : ''
  return {
    ...rest({ method: 'POST', path: `/pipelines/${name}/${kind}`, body }),
    cli: `headgate ${kind} ${name}${flags} --wait`,
  }
}

export function deleteCall(name: string): Call {
  return { ...rest({ method: 'DELETE', path: `/pipelines/${name}` }), cli: `headgate delete ${name}` }
}

export function editCall(name: string, etag: string, fields: unknown): Call {
  const request: Request = {
    method: 'PATCH',
    path: `/pipelines/${name}`,
    body: fields,
    headers: { 'If-Match': etag },
  }
  return { ...rest(request), cli: `headgate apply -f ${name}.yaml` }
}

/** Creating and publishing send a file, so the calls name one instead of repeating it. */
export function applyCall(name: string, publish: boolean): Call {
  const file = `${name || 'pipeline'}.yaml`
  const path = publish ? `/pipelines/${name}/revisions` : '/pipelines'
  const address = `${origin()}/api/v1${path}`
  return {
    cli: `headgate apply -f ${file}`,
    curl: [
      `jq -Rs '{definition: .}' ${file} |`,
      `  curl -X POST ${address} \\`,
      `    -H "Authorization: Token $HEADGATE_TOKEN" \\`,
      `    -H 'Content-Type: application/json' --data-binary @-`,
    ].join('\n'),
    python: python({ method: 'POST', path }, `{"definition": pathlib.Path("${file}").read_text()}`, [
      'pathlib',
    ]),
  }
}

function rest(request: Request): Omit<Call, 'cli'> {
  return {
    curl: curl(request),
    python: python(request, request.body === undefined ? null : pythonLiteral(request.body)),
  }
}

function curl({ method, path, body, headers = {} }: Request): string {
  const lines = [`curl -X ${method} ${origin()}/api/v1${path}`, `  -H "Authorization: Token $HEADGATE_TOKEN"`]
  for (const [key, value] of Object.entries(headers)) lines.push(`  -H ${shellQuote(`${key}: ${value}`)}`)
  if (body !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${shellQuote(JSON.stringify(body))}`)
  }
  return lines.join(' \\\n')
}

function python(
  { method, path, headers = {} }: Request,
  json: string | null,
  imports: string[] = [],
): string {
  const extra = Object.entries(headers).map(
    ([key, value]) => `, ${pythonLiteral(key)}: ${pythonLiteral(value)}`,
  )
  return [
    ...['os', ...imports].map((module) => `import ${module}`),
    'import httpx',
    '',
    `answer = httpx.request(`,
    `    "${method}", "${origin()}/api/v1${path}",`,
    `    headers={"Authorization": f"Token {os.environ['HEADGATE_TOKEN']}"${extra.join('')}},`,
    ...(json === null ? [] : [`    json=${json},`]),
    ')',
    'answer.raise_for_status()',
  ].join('\n')
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** JSON with Python's words for its three constants. */
function pythonLiteral(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const items = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${pythonLiteral(item)}`)
  return `{${items.join(', ')}}`
}
