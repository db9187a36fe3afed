import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { Revision } from './types'

export const revisionsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.revisions(name),
    queryFn: ({ signal }) =>
      fetchAll<Revision>((cursor) => {
        const params = { path: { name }, query: { cursor, limit: PAGE_SIZE } }
        return take(api.GET('/api/v1/pipelines/{name}/revisions', { params, signal }))
      }),
  })

/** One revision with its text. */
export const revisionQuery = (name: string, number: number) =>
  queryOptions({
    queryKey: keys.revision(name, number),
    queryFn: ({ signal }) => {
      const params = { path: { name, number: String(number) } }
      return take(api.GET('/api/v1/pipelines/{name}/revisions/{number}', { params, signal }))
    },
  })

/** What a text that is not stored would change of the current revision. */
export const definitionDiffQuery = (name: string, definition: string) =>
  queryOptions({
    queryKey: keys.definitionDiff(name, definition),
    queryFn: ({ signal }) =>
      take(
        api.POST('/api/v1/pipelines/{name}/diff', {
          params: { path: { name } },
          body: { definition },
          signal,
        }),
      ),
    gcTime: 0,
    staleTime: 0,
  })

export const diffQuery = (name: string, from: number, to: number) =>
  queryOptions({
    queryKey: keys.diff(name, from, to),
    queryFn: ({ signal }) => {
      const params = { path: { name, number: String(to) }, query: { against: from } }
      return take(api.GET('/api/v1/pipelines/{name}/revisions/{number}/diff', { params, signal }))
    },
    staleTime: Infinity,
  })

/** Publishes a revision on top of the version that `etag` names; refused with 412 when there is a newer one. */
export function publishRevision(
  name: string,
  etag: string,
  definition: string,
  note: string,
): Promise<Revision> {
  const params = { path: { name }, header: { 'Idempotency-Key': randomKey(), 'If-Match': etag } }
  return take(api.POST('/api/v1/pipelines/{name}/revisions', { params, body: { definition, note } }))
}
