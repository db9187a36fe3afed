import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api } from './client'
import { keys } from './keys'
import { fetchAll } from './paging'
import type {
  Operation,
  OperationKind,
  Page,
  Pipeline,
  PipelineDetail,
  PipelineStatus,
  SeriesPoint,
  Validation,
} from './types'

const at = (name: string) => `/pipelines/${encodeURIComponent(name)}`

export const pipelinesQuery = queryOptions({
  queryKey: keys.pipelines,
  queryFn: ({ signal }) => fetchAll<Pipeline>('/pipelines', {}, signal),
})

export const fetchPipeline = (name: string, signal?: AbortSignal) =>
  api.get<PipelineDetail>(at(name), { signal })

export const pipelineQuery = (name: string) =>
  queryOptions({ queryKey: keys.detail(name), queryFn: ({ signal }) => fetchPipeline(name, signal) })

export const statusQuery = (name: string) =>
  queryOptions({
    queryKey: keys.status(name),
    queryFn: ({ signal }) => api.get<PipelineStatus>(`${at(name)}/status`, { signal }),
  })

export const seriesQuery = (name: string, minutes: number) =>
  queryOptions({
    queryKey: keys.series(name, minutes),
    queryFn: async ({ signal }) => {
      const answer = await api.get<{ points: SeriesPoint[] }>(`${at(name)}/series`, {
        query: { minutes },
        signal,
      })
      return answer.points
    },
    staleTime: 60_000,
  })

/** The newest operation of a pipeline, open or final; null when it never had one. */
export const operationQuery = (name: string) =>
  queryOptions({
    queryKey: keys.operation(name),
    queryFn: async ({ signal }) => {
      const page = await api.get<Page<Operation>>('/operations', {
        query: { pipeline: name, limit: 1 },
        signal,
      })
      return page.results[0] ?? null
    },
  })

export const act = (name: string, kind: OperationKind, body: Record<string, unknown> = {}) =>
  api.post<Operation>(`${at(name)}/${kind}`, { body, headers: { 'Idempotency-Key': randomKey() } })

export const cancelOperation = (id: string) => api.delete<Operation>(`/operations/${id}`)

export const validate = (definition: string, signal?: AbortSignal) =>
  api.post<Validation>('/pipelines/validate', { body: { definition }, signal })

export const createPipeline = (definition: string) =>
  api.post<Pipeline>('/pipelines', { body: { definition }, headers: { 'Idempotency-Key': randomKey() } })

export const editPipeline = (
  name: string,
  etag: string,
  fields: { description: string; labels: Record<string, string> },
) => api.patch<Pipeline>(at(name), { body: fields, headers: { 'If-Match': etag } })

export const deletePipeline = (name: string, etag: string) =>
  api.delete(at(name), { headers: { 'If-Match': etag } })
