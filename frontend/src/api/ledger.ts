import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { paths } from './schema'

export const ledgerTotalsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.ledgerTotals(name),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/pipelines/{name}/ledger/summary', { params: { path: { name } }, signal })),
  })

/** Which batches: what is left out narrows nothing. */
export type BatchFilter = Omit<
  NonNullable<paths['/api/v1/pipelines/{name}/ledger']['get']['parameters']['query']>,
  'cursor' | 'limit'
>

export const batchesQuery = (name: string, filter: BatchFilter) =>
  infiniteQueryOptions({
    queryKey: keys.batches(name, filter),
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { name }, query: { ...filter, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/pipelines/{name}/ledger', { params, signal }))
    },
    ...paged,
  })

export const flowQuery = (name: string, minutes: number) =>
  queryOptions({
    queryKey: keys.flow(name, minutes),
    queryFn: ({ signal }) => {
      const params = { path: { name }, query: { minutes } }
      return take(api.GET('/api/v1/pipelines/{name}/ledger/flow', { params, signal }))
    },
  })

export const topologyQuery = (name: string, minutes: number) =>
  queryOptions({
    queryKey: keys.topology(name, minutes),
    queryFn: ({ signal }) => {
      const params = { path: { name }, query: { minutes } }
      return take(api.GET('/api/v1/pipelines/{name}/topology', { params, signal }))
    },
  })
