import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, patiently, take } from './client'
import { keys } from './keys'

/** Seconds in which the worker of the host may look before the last known answer is given. */
const INSPECTION_SECONDS = 8

const named = (name: string) => ({ path: { name } })

export const positionsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.positions(name),
    queryFn: ({ signal }) => {
      const params = { ...named(name), query: { wait: INSPECTION_SECONDS } }
      return take(api.GET('/api/v1/pipelines/{name}/positions', { params, signal }))
    },
  })

/** What going on at `to` would do; nothing is changed by asking. `basis`: the positions that it is counted from. */
export const planQuery = (name: string, to: string, source: string | null, basis: string) =>
  queryOptions({
    queryKey: keys.positionsPlan(name, to, source, basis),
    queryFn: ({ signal }) =>
      take(
        api.POST('/api/v1/pipelines/{name}/positions/plan', {
          params: named(name),
          body: { to, source },
          fetch: patiently,
          signal,
        }),
      ),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  })

export const applyPositions = (name: string, hash: string) =>
  take(
    api.POST('/api/v1/pipelines/{name}/positions/apply', {
      params: { ...named(name), header: { 'Idempotency-Key': randomKey() } },
      body: { hash },
    }),
  )
