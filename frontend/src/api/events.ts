import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'
import type { EventCategory, HeadgateEvent, Page } from './types'

/** Which events: those of any of the categories, or of one kind (`phase.changed`), or of all. */
export interface EventFilter {
  category?: EventCategory[]
  kind?: string
}

export const eventsQuery = (pipeline?: string, { category, kind }: EventFilter = {}) =>
  infiniteQueryOptions({
    queryKey: keys.events(pipeline, { category, kind }),
    queryFn: async ({ pageParam, signal }): Promise<Page<HeadgateEvent>> => {
      const params = {
        query: { pipeline, category, kind: kind ? [kind] : undefined, limit: 50, cursor: pageParam },
      }
      const answer = await take(
        api.GET('/api/v1/events', { params, signal, headers: { Accept: 'application/json' } }),
      )
      return answer as Page<HeadgateEvent>
    },
    ...paged,
  })
