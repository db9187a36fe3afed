import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { DifferenceKind, PreviewRequest } from './types'

const POLL_MS = 700
const PAGE = 20

/** Asks the host to run a definition and the present revision on real records. */
export const requestPreview = (name: string, body: PreviewRequest) =>
  take(
    api.POST('/api/v1/pipelines/{name}/previews', {
      params: { path: { name }, header: { 'Idempotency-Key': randomKey() } },
      body,
    }),
  )

/** A preview; asked for again until it has ended. */
export const previewQuery = (name: string, id: string) =>
  queryOptions({
    queryKey: keys.preview(name, id),
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/v1/pipelines/{name}/previews/{preview_id}', {
          params: { path: { name, preview_id: id } },
          signal,
        }),
      ),
    refetchInterval: untilEnded(POLL_MS),
  })

export interface DifferenceFilter {
  kind?: DifferenceKind
  component?: string
}

/** The events that differ, by their place in the log. */
export const differencesQuery = (name: string, id: string, filter: DifferenceFilter) =>
  infiniteQueryOptions({
    queryKey: keys.previewDifferences(name, id, filter),
    queryFn: ({ pageParam, signal }) => {
      const path = { name, preview_id: id }
      const params = { path, query: { limit: PAGE, cursor: pageParam, ...filter } }
      return take(api.GET('/api/v1/pipelines/{name}/previews/{preview_id}/differences', { params, signal }))
    },
    ...paged,
  })

export const ended = (state: string) => state === 'DONE' || state === 'FAILED'

/** How often what a host makes is asked for again. */
export const untilEnded =
  (ms: number) =>
  ({ state }: { state: { data?: { state: string } } }) =>
    state.data && ended(state.data.state) ? false : ms
