import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Plugin } from 'vite'
import { handle, World } from './handle.ts'

const TICK_MS = 1_000

/**
 * Serves the API out of a simulated world, for work on the page without a backend: `npm run dev:mock`.
 * `MOCK_PIPELINES` says how many pipelines there are; `POST /mock?pipelines=1000` changes it while it runs.
 */
export function mockApi(): Plugin {
  const world = new World(Number(process.env.MOCK_PIPELINES ?? 12))
  setInterval(() => world.tick(), TICK_MS).unref()
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse, next: () => void) => {
    const url = new URL(incoming.url ?? '/', 'http://localhost')
    if (url.pathname === '/mock') {
      world.reset(Number(url.searchParams.get('pipelines')))
      return outgoing.end()
    }
    if (!url.pathname.startsWith('/api/v1')) return next()
    return void answer(world, url, incoming, outgoing)
  }
  return {
    name: 'headgate-mock-api',
    configureServer: (server) => void server.middlewares.use(serve),
    configurePreviewServer: (server) => void server.middlewares.use(serve),
  }
}

async function answer(
  world: World,
  url: URL,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const abort = new AbortController()
  outgoing.on('close', () => abort.abort())
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD'
  const request = new Request(url, {
    method: incoming.method,
    headers: incoming.headers as Record<string, string>,
    body: hasBody ? (Readable.toWeb(incoming) as ReadableStream) : undefined,
    signal: abort.signal,
    duplex: 'half',
  } as RequestInit)
  const response = await handle(world, request)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) return void outgoing.end()
  Readable.fromWeb(response.body as never)
    .on('error', () => {})
    .pipe(outgoing)
}
