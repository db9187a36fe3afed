import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { ExternalGroup } from './types'

export const groupsQuery = queryOptions({
  queryKey: keys.groups,
  queryFn: ({ signal }) =>
    fetchAll<ExternalGroup>((cursor) =>
      take(api.GET('/api/v1/consumer-groups', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const watchGroup = (group: string, servers: string, team: string | null) =>
  take(
    api.POST('/api/v1/consumer-groups', {
      params: { header: { 'Idempotency-Key': randomKey() } },
      body: {
        team,
        group,
        bootstrap_servers: servers,
        options: {},
        interval: 60,
        max_rate: null,
        leap_records: null,
        host: null,
      },
    }),
  )

export const unwatchGroup = (id: number) =>
  take(api.DELETE('/api/v1/consumer-groups/{group_id}', { params: { path: { group_id: String(id) } } }))
