import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { Operation, ReplayRequest } from './types'

/** What narrows the list: all that is given has to match. */
export interface DeadLetterFilter {
  component?: string
  cause?: string
  state?: 'NEW' | 'RETRIED' | 'DISCARDED'
}

export const deadLettersQuery = (name: string, filter: DeadLetterFilter) =>
  infiniteQueryOptions({
    queryKey: keys.deadLetters(name, filter),
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { name }, query: { ...filter, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/pipelines/{name}/dead-letters', { params, signal }))
    },
    ...paged,
  })

export const deadLettersSummaryQuery = (name: string) =>
  queryOptions({
    queryKey: keys.deadLettersSummary(name),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/pipelines/{name}/dead-letters/summary', { params: { path: { name } }, signal })),
  })

export const deadLetterQuery = (name: string, id: string) =>
  queryOptions({
    queryKey: keys.deadLetter(name, id),
    queryFn: ({ signal }) => {
      const params = { path: { name, dead_letter_id: id } }
      return take(api.GET('/api/v1/pipelines/{name}/dead-letters/{dead_letter_id}', { params, signal }))
    },
  })

export function retryDeadLetters(name: string, body: ReplayRequest): Promise<Operation> {
  const params = { path: { name }, header: { 'Idempotency-Key': randomKey() } }
  return take(api.POST('/api/v1/pipelines/{name}/dead-letters/retry', { params, body }))
}

export function discardDeadLetters(name: string, ids: string[], reason: string) {
  const params = { path: { name }, header: { 'Idempotency-Key': randomKey() } }
  return take(api.POST('/api/v1/pipelines/{name}/dead-letters/discard', { params, body: { ids, reason } }))
}
