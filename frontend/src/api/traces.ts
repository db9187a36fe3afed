import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { untilEnded } from './previews'
import type { TraceRequest } from './types'

const POLL_MS = 500

const NOTHING = { at: null, from_sink: null, key: null, contains: null, time: null, source: '' }

/** Asks the host where a record went. */
export const requestTrace = (name: string, body: TraceRequest) =>
  take(
    api.POST('/api/v1/pipelines/{name}/traces', {
      params: { path: { name }, header: { 'Idempotency-Key': randomKey() } },
      body: { ...NOTHING, ...body },
    }),
  )

/** A trace; asked for again until it has ended. */
export const traceQuery = (name: string, id: string) =>
  queryOptions({
    queryKey: keys.trace(name, id),
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/v1/pipelines/{name}/traces/{trace_id}', {
          params: { path: { name, trace_id: id } },
          signal,
        }),
      ),
    refetchInterval: untilEnded(POLL_MS),
  })
