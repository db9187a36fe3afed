import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { paths } from './schema'
import type { LogChunk } from './types'

const DUMP_SECONDS = 12

type LogQuery = NonNullable<paths['/api/v1/runs/{run_id}/log']['get']['parameters']['query']>

export const runsQuery = (name: string) =>
  infiniteQueryOptions({
    queryKey: keys.runs(name),
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { name }, query: { limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/pipelines/{name}/runs', { params, signal }))
    },
    ...paged,
  })

/** The last lines of a run's log, those around one, or what follows a byte offset. */
export async function fetchLog(run: number, from: LogQuery, signal?: AbortSignal): Promise<LogChunk> {
  const params = { path: { run_id: String(run) }, query: from }
  return (await take(api.GET('/api/v1/runs/{run_id}/log', { params, signal }))) as LogChunk
}

/** Every dump of a run's stacks, newest first. */
export const stacksQuery = (run: number) =>
  queryOptions({
    queryKey: keys.stacks(run),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/runs/{run_id}/stacks', { params: { path: { run_id: String(run) } }, signal })),
  })

/** Has the keeper dump the stacks of a living run, and waits until the dump is there. */
export async function dumpStacks(run: number) {
  const path = { run_id: String(run) }
  const header = { 'Idempotency-Key': randomKey() }
  const { asked } = await take(
    api.POST('/api/v1/runs/{run_id}/stacks', { params: { path, header }, body: {} }),
  )
  const query = { asked, wait: DUMP_SECONDS }
  return take(api.GET('/api/v1/runs/{run_id}/stacks', { params: { path, query } }))
}

/** The log as a file; the API gives at most its last mebibyte at once. */
export const logDownloadUrl = (run: number) => `/api/v1/runs/${run}/log?format=text&tail=10000`
