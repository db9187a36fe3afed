import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api } from './client'
import { keys } from './keys'
import { fetchAll } from './paging'
import type { Revision, RevisionDiff } from './types'

export const revisionsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.revisions(name),
    queryFn: ({ signal }) => fetchAll<Revision>(`/pipelines/${name}/revisions`, {}, signal),
  })

export const diffQuery = (name: string, from: number, to: number) =>
  queryOptions({
    queryKey: keys.diff(name, from, to),
    queryFn: ({ signal }) =>
      api.get<RevisionDiff>(`/pipelines/${name}/revisions/${to}/diff`, { query: { against: from }, signal }),
    staleTime: Infinity,
  })

export const publishRevision = (name: string, definition: string, note: string) =>
  api.post<Revision>(`/pipelines/${name}/revisions`, {
    body: { definition, note },
    headers: { 'Idempotency-Key': randomKey() },
  })
