import { infiniteQueryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'

/** Alerts, newest first: those that stand, or those that are over. */
export const alertsQuery = (state: 'OPEN' | 'ACKNOWLEDGED' | 'RESOLVED' | undefined) =>
  infiniteQueryOptions({
    queryKey: keys.alerts(state),
    queryFn: ({ pageParam, signal }) => {
      const params = { query: { state, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/alerts', { params, signal }))
    },
    ...paged,
  })

export const acknowledgeAlert = (id: number) =>
  take(
    api.POST('/api/v1/alerts/{alert_id}/acknowledge', {
      params: { path: { alert_id: String(id) }, header: { 'Idempotency-Key': randomKey() } },
      body: {},
    }),
  )
