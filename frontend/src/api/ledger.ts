import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'

export const ledgerTotalsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.ledgerTotals(name),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/pipelines/{name}/ledger/summary', { params: { path: { name } }, signal })),
  })

export const batchesQuery = (name: string, channel?: string, run?: number) =>
  infiniteQueryOptions({
    queryKey: keys.batches(name, channel, run),
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { name }, query: { channel, run, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/pipelines/{name}/ledger', { params, signal }))
    },
    ...paged,
  })

export const topologyQuery = (name: string, minutes: number) =>
  queryOptions({
    queryKey: keys.topology(name, minutes),
    queryFn: ({ signal }) => {
      const params = { path: { name }, query: { minutes } }
      return take(api.GET('/api/v1/pipelines/{name}/topology', { params, signal }))
    },
  })
