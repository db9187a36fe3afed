import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import type { GuideCard } from './types'

const BUSY_MS = 1_000
const IDLE_MS = 10_000

/** The cards of the guided demo; asked for often while one of them is under way. */
export const guideQuery = (name: string) =>
  queryOptions({
    queryKey: keys.guide(name),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/pipelines/{name}/guide', { params: { path: { name } }, signal })),
    refetchInterval: ({ state }) => (state.data?.open ? BUSY_MS : IDLE_MS),
    enabled: name !== '',
  })

/** Breaks the demo pipeline by a card. */
export const breakDemo = (name: string, card: GuideCard['card']) =>
  take(
    api.POST('/api/v1/pipelines/{name}/guide', {
      params: { path: { name }, header: { 'Idempotency-Key': randomKey() } },
      body: { card },
    }),
  )
