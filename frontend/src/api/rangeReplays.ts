import { infiniteQueryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { ReplayRange } from './types'

/** Every replay of a range that was asked for, newest first. */
export const rangeReplaysQuery = (name: string) =>
  infiniteQueryOptions({
    queryKey: keys.rangeReplays(name),
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { name }, query: { limit: 20, cursor: pageParam } }
      return take(api.GET('/api/v1/pipelines/{name}/range-replays', { params, signal }))
    },
    ...paged,
  })

/** What reading a range again would do; nothing is changed by asking. */
export const planRangeReplay = (name: string, range: ReplayRange) =>
  take(api.POST('/api/v1/pipelines/{name}/range-replays/plan', { params: { path: { name } }, body: range }))

/** Carries out the plan of this hash, and no other. */
export const replayRange = (name: string, range: ReplayRange, hash: string, reason: string) =>
  take(
    api.POST('/api/v1/pipelines/{name}/range-replays', {
      params: { path: { name }, header: { 'Idempotency-Key': randomKey() } },
      body: { ...range, hash, reason },
    }),
  )
