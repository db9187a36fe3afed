import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { ChangeBody, ChangeRequest } from './types'

const once = () => ({ 'Idempotency-Key': randomKey() })
const named = (name: string) => ({ path: { name }, header: once() })
const of = ({ pipeline, id }: Pick<ChangeRequest, 'pipeline' | 'id'>) => ({
  path: { name: pipeline, request_id: id },
  header: once(),
})

/** The open change requests of a pipeline, newest first. */
export const openRequestsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.changeRequests(name),
    queryFn: ({ signal }) =>
      fetchAll<ChangeRequest>((cursor) => {
        const query = { pipeline: name, state: 'open' as const, limit: PAGE_SIZE, cursor }
        return take(api.GET('/api/v1/change-requests', { params: { query }, signal }))
      }),
  })

export const requestChange = (name: string, body: ChangeBody) =>
  take(api.POST('/api/v1/pipelines/{name}/change-requests', { params: named(name), body }))

/** Makes the change at once; only administrators may. */
export const breakGlass = (name: string, body: ChangeBody) =>
  take(api.POST('/api/v1/pipelines/{name}/break-glass', { params: named(name), body }))

const BELOW = '/api/v1/pipelines/{name}/change-requests/{request_id}'

export const approveRequest = (request: ChangeRequest) =>
  take(api.POST(`${BELOW}/approve`, { params: of(request), body: { hash: request.hash } }))

export const denyRequest = (request: ChangeRequest, reason: string) =>
  take(api.POST(`${BELOW}/deny`, { params: of(request), body: { reason } }))

export const cancelRequest = (request: ChangeRequest) =>
  take(api.POST(`${BELOW}/cancel`, { params: of(request), body: { reason: '' } }))

export const applyRequest = (request: ChangeRequest) =>
  take(api.POST(`${BELOW}/apply`, { params: of(request), body: {} }))
