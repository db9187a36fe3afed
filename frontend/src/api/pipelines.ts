import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { Pipeline, SeriesPoint } from './types'

const named = (name: string) => ({ path: { name } })
const once = () => ({ 'Idempotency-Key': randomKey() })

export const pipelinesQuery = queryOptions({
  queryKey: keys.pipelines,
  queryFn: ({ signal }) =>
    fetchAll<Pipeline>((cursor) =>
      take(api.GET('/api/v1/pipelines', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const fetchPipeline = (name: string, signal?: AbortSignal) =>
  take(api.GET('/api/v1/pipelines/{name}', { params: named(name), signal }))

export const pipelineQuery = (name: string) =>
  queryOptions({ queryKey: keys.detail(name), queryFn: ({ signal }) => fetchPipeline(name, signal) })

export const statusQuery = (name: string) =>
  queryOptions({
    queryKey: keys.status(name),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/pipelines/{name}/status', { params: named(name), signal })),
  })

export async function fetchSeries(
  name: string,
  minutes: number,
  signal?: AbortSignal,
): Promise<SeriesPoint[]> {
  const params = { ...named(name), query: { minutes } }
  const { points } = await take(api.GET('/api/v1/pipelines/{name}/series', { params, signal }))
  return points
}

export const validate = (definition: string, signal?: AbortSignal) =>
  take(api.POST('/api/v1/pipelines/validate', { body: { definition }, signal }))

/** `team` null: the only one of the user, or the default one. */
export const createPipeline = (definition: string, team: string | null) =>
  take(api.POST('/api/v1/pipelines', { params: { header: once() }, body: { definition, note: '', team } }))

export const editPipeline = (
  name: string,
  etag: string,
  fields: { description: string; labels: Record<string, string> },
) =>
  take(
    api.PATCH('/api/v1/pipelines/{name}', {
      params: { ...named(name), header: { 'If-Match': etag } },
      body: fields,
    }),
  )

export const deletePipeline = (name: string, etag: string) =>
  take(api.DELETE('/api/v1/pipelines/{name}', { params: { ...named(name), header: { 'If-Match': etag } } }))
