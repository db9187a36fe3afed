import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, url } from './client'
import { keys } from './keys'
import { fetchPage } from './paging'
import type { LogChunk, Run } from './types'

export const runsQuery = (name: string) =>
  infiniteQueryOptions({
    queryKey: keys.runs(name),
    queryFn: ({ pageParam, signal }) =>
      fetchPage<Run>(`/pipelines/${name}/runs`, { limit: 50 }, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  })

export const fetchLogTail = (run: number, lines: number, signal?: AbortSignal) =>
  api.get<LogChunk>(`/runs/${run}/log`, { query: { tail: lines }, signal })

export const fetchLogFrom = (run: number, offset: number, signal?: AbortSignal) =>
  api.get<LogChunk>(`/runs/${run}/log`, { query: { offset }, signal })

export const logDownloadUrl = (run: number) => url(`/runs/${run}/log`, { format: 'text' })
