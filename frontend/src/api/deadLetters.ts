import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { Operation, ReplayRequest } from './types'

/** What narrows the list: all that is given has to match. */
export interface LetterFilter {
  component?: string
  cause?: string
  state?: 'NEW' | 'REPLAYED' | 'DISCARDED'
}

export const deadLettersQuery = (name: string, filter: LetterFilter) =>
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
      const params = { path: { name, letter_id: id } }
      return take(api.GET('/api/v1/pipelines/{name}/dead-letters/{letter_id}', { params, signal }))
    },
  })

export function replayLetters(name: string, body: ReplayRequest): Promise<Operation> {
  const params = { path: { name }, header: { 'Idempotency-Key': randomKey() } }
  return take(api.POST('/api/v1/pipelines/{name}/dead-letters/replay', { params, body }))
}

export function discardLetters(name: string, ids: string[], reason: string) {
  const params = { path: { name }, header: { 'Idempotency-Key': randomKey() } }
  return take(api.POST('/api/v1/pipelines/{name}/dead-letters/discard', { params, body: { ids, reason } }))
}
