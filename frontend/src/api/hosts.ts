import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import type { DrainBody } from './types'

/** With `how` a host takes no new agents, and those that can move are moved; without, it takes them again. */
export function drainHost(name: string, how: DrainBody | null) {
  const params = { path: { name }, header: { 'Idempotency-Key': randomKey() } }
  return how
    ? take(api.POST('/api/v1/hosts/{name}/drain', { params, body: how }))
    : take(api.POST('/api/v1/hosts/{name}/undrain', { params, body: {} }))
}

/** Expects a silent host no longer. */
export const removeHost = (name: string) =>
  take(api.DELETE('/api/v1/hosts/{name}', { params: { path: { name } } }))

export const hostsQuery = queryOptions({
  queryKey: keys.hosts,
  queryFn: ({ signal }) => take(api.GET('/api/v1/hosts', { signal })),
})

/** A host with the pipelines that have a place there, and what ties each to it. */
export const hostQuery = (name: string) =>
  queryOptions({
    queryKey: keys.host(name),
    queryFn: ({ signal }) => take(api.GET('/api/v1/hosts/{name}', { params: { path: { name } }, signal })),
  })
