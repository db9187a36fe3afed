import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from './client'
import { keys } from './keys'
import { fetchPage } from './paging'
import type { LedgerBatch, LedgerSummary } from './types'

export const booksQuery = (name: string) =>
  queryOptions({
    queryKey: keys.books(name),
    queryFn: ({ signal }) => api.get<LedgerSummary>(`/pipelines/${name}/ledger/summary`, { signal }),
  })

export const batchesQuery = (name: string, channel?: string, run?: number) =>
  infiniteQueryOptions({
    queryKey: keys.batches(name, channel, run),
    queryFn: ({ pageParam, signal }) =>
      fetchPage<LedgerBatch>(`/pipelines/${name}/ledger`, { channel, run, limit: 50 }, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  })
