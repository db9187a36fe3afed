import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import type { EvacuationRequest } from './types'

/** So many of the newest are read; one host has at most one that is open. */
const NEWEST = 20

export const evacuationsQuery = queryOptions({
  queryKey: keys.evacuations,
  queryFn: async ({ signal }) => {
    const params = { query: { limit: NEWEST } }
    return (await take(api.GET('/api/v1/evacuations', { params, signal }))).results
  },
})

export const evacuationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.evacuation(id),
    queryFn: ({ signal }) => {
      const params = { path: { evacuation_id: id } }
      return take(api.GET('/api/v1/evacuations/{evacuation_id}', { params, signal }))
    },
  })

export const evacuate = (body: EvacuationRequest) =>
  take(
    api.POST('/api/v1/evacuations', {
      params: { header: { 'Idempotency-Key': randomKey() } },
      body,
    }),
  )

/** Starts no more of its migrations; running ones continue. */
export const cancelEvacuation = (id: string) =>
  take(api.DELETE('/api/v1/evacuations/{evacuation_id}', { params: { path: { evacuation_id: id } } }))
