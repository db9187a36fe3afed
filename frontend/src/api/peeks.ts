import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { untilEnded } from './previews'
import type { PeekQuestion, PeekRequest } from './types'

const POLL_MS = 500

const NOTHING = {
  ...{ topic: '', partition: null, offset: null, time: null, key: null, contains: null, limit: 20 },
} satisfies Partial<PeekQuestion>

/** Asks the host for records of a topic. */
export const requestPeek = (name: string, body: PeekRequest) =>
  take(
    api.POST('/api/v1/pipelines/{name}/peeks', {
      params: { path: { name }, header: { 'Idempotency-Key': randomKey() } },
      body: { ...NOTHING, ...body },
    }),
  )

/** Has the host stop reading. */
export const cancelPeek = (name: string, id: string) =>
  take(api.DELETE('/api/v1/pipelines/{name}/peeks/{peek_id}', { params: { path: { name, peek_id: id } } }))

/** A peek; asked for again until it has ended. */
export const peekQuery = (name: string, id: string) =>
  queryOptions({
    queryKey: keys.peek(name, id),
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/v1/pipelines/{name}/peeks/{peek_id}', {
          params: { path: { name, peek_id: id } },
          signal,
        }),
      ),
    refetchInterval: untilEnded(POLL_MS),
  })
