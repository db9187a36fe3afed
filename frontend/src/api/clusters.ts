import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
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

const POLL_MS = 500

/** What the last test of each host's connection has found; asked again while a host has still to answer. */
export const clusterTestQuery = (name: string) =>
  queryOptions({
    queryKey: keys.clusterTest(name),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/clusters/{name}/test', { params: { path: { name } }, signal })),
    refetchInterval: ({ state }) => (state.data?.checking ? POLL_MS : false),
  })

/** Has every host connect to the cluster. */
export const testCluster = (name: string) =>
  take(
    api.POST('/api/v1/clusters/{name}/test', {
      params: { path: { name }, header: { 'Idempotency-Key': randomKey() } },
      body: {},
    }),
  )

export const deleteCluster = (name: string) =>
  take(api.DELETE('/api/v1/clusters/{name}', { params: { path: { name } } }))
