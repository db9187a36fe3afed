import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, paged, PAGE_SIZE } from './paging'
import type { Alert, Severity, Silence, SilenceRequest } from './types'

export interface AlertFilter {
  state?: Alert['state']
  severity?: Severity
  label?: string
}

const once = () => ({ 'Idempotency-Key': randomKey() })

/** Alerts, newest first: those that stand, unless a state is given. */
export const alertsQuery = (filter: AlertFilter) =>
  infiniteQueryOptions({
    queryKey: keys.alerts(filter),
    queryFn: ({ pageParam, signal }) => {
      const params = { query: { ...filter, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/alerts', { params, signal }))
    },
    ...paged,
  })

/** How many alerts stand. */
export const alertCountsQuery = queryOptions({
  queryKey: keys.alertCounts,
  queryFn: ({ signal }) => take(api.GET('/api/v1/alerts/counts', { signal })),
})

export const acknowledgeAlert = ({ id, note }: { id: number; note: string }) =>
  take(
    api.POST('/api/v1/alerts/{alert_id}/acknowledge', {
      params: { path: { alert_id: String(id) }, header: once() },
      body: { note },
    }),
  )

/** Silences that hold something back now. */
export const silencesQuery = queryOptions({
  queryKey: keys.silences,
  queryFn: ({ signal }) =>
    fetchAll<Silence>((cursor) =>
      take(
        api.GET('/api/v1/silences', {
          params: { query: { state: 'ACTIVE', cursor, limit: PAGE_SIZE } },
          signal,
        }),
      ),
    ),
})

export const createSilence = (body: SilenceRequest) =>
  take(api.POST('/api/v1/silences', { params: { header: once() }, body }))

export const endSilence = (id: number) =>
  take(
    api.POST('/api/v1/silences/{silence_id}/end', {
      params: { path: { silence_id: String(id) }, header: once() },
      body: {},
    }),
  )
