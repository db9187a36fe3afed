import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { AllowedNetwork, AllowedNetworkRequest, AllowedRoot, AllowedRootRequest } from './types'

const once = () => ({ header: { 'Idempotency-Key': randomKey() } })

/** The directories that pipelines can read, or read and write. */
export const allowedRootsQuery = queryOptions({
  queryKey: keys.allowedRoots,
  queryFn: ({ signal }) =>
    fetchAll<AllowedRoot>((cursor) =>
      take(api.GET('/api/v1/allowed-roots', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const allowRoot = (body: AllowedRootRequest) =>
  take(api.POST('/api/v1/allowed-roots', { params: once(), body }))

export const removeRoot = (id: number) =>
  take(api.DELETE('/api/v1/allowed-roots/{rule_id}', { params: { path: { rule_id: String(id) } } }))

/** The networks and hosts that pipelines can connect to. */
export const allowedNetworksQuery = queryOptions({
  queryKey: keys.allowedNetworks,
  queryFn: ({ signal }) =>
    fetchAll<AllowedNetwork>((cursor) =>
      take(api.GET('/api/v1/allowed-networks', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const allowNetwork = (body: AllowedNetworkRequest) =>
  take(api.POST('/api/v1/allowed-networks', { params: once(), body }))

export const removeNetwork = (id: number) =>
  take(api.DELETE('/api/v1/allowed-networks/{rule_id}', { params: { path: { rule_id: String(id) } } }))
