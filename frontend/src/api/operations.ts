import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import type { Operation, ActionKind, RestartBody, StopBody } from './types'

/** The newest operation of a pipeline, open or final; null when it never had one. */
export const operationQuery = (name: string) =>
  queryOptions({
    queryKey: keys.operation(name),
    queryFn: async ({ signal }) => {
      const params = { query: { pipeline: name, limit: 1 } }
      const { results } = await take(api.GET('/api/v1/operations', { params, signal }))
      return results[0] ?? null
    },
  })

/** Asks for a change of state. `body` says how to stop or to restart; without it, as the server does by itself. */
export function act(name: string, kind: ActionKind, body: StopBody | RestartBody = {}): Promise<Operation> {
  const params = { path: { name }, header: { 'Idempotency-Key': randomKey() } }
  if (kind === 'stop')
    return take(api.POST('/api/v1/pipelines/{name}/stop', { params, body: body as Required<StopBody> }))
  if (kind === 'restart')
    return take(api.POST('/api/v1/pipelines/{name}/restart', { params, body: body as Required<RestartBody> }))
  return take(api.POST(`/api/v1/pipelines/{name}/${kind}`, { params, body: {} }))
}

export const cancelOperation = (id: string) =>
  take(api.DELETE('/api/v1/operations/{operation_id}', { params: { path: { operation_id: id } } }))
