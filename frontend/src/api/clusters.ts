import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { Cluster, ClusterRequest } from './types'

/** The clusters that the user may see, with the pipelines on them. */
export const clustersQuery = queryOptions({
  queryKey: keys.clusters,
  queryFn: ({ signal }) =>
    fetchAll<Cluster>((cursor) =>
      take(api.GET('/api/v1/clusters', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

/** Defines a cluster, or changes it: pipelines take the change at their next start. */
export const putCluster = (name: string, body: ClusterRequest) =>
  take(api.PUT('/api/v1/clusters/{name}', { params: { path: { name } }, body }))

export const deleteCluster = (name: string) =>
  take(api.DELETE('/api/v1/clusters/{name}', { params: { path: { name } } }))
