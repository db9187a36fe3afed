import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { HeadgateEvent, Page } from './types'

export const eventsQuery = (pipeline?: string) =>
  infiniteQueryOptions({
    queryKey: keys.events(pipeline),
    queryFn: async ({ pageParam, signal }): Promise<Page<HeadgateEvent>> => {
      const params = { query: { pipeline, limit: 50, cursor: pageParam } }
      const answer = await take(
        api.GET('/api/v1/events', { params, signal, headers: { Accept: 'application/json' } }),
      )
      return answer as Page<HeadgateEvent>
    },
    ...paged,
  })
