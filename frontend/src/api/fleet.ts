import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { FleetPipeline } from './types'

/** The last 24 hours of every pipeline. */
export const fleetQuery = queryOptions({
  queryKey: keys.fleet,
  queryFn: ({ signal }) =>
    fetchAll<FleetPipeline>((cursor) =>
      take(api.GET('/api/v1/fleet', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})
