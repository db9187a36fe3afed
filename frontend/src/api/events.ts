import { infiniteQueryOptions } from '@tanstack/react-query'
import { keys } from './keys'
import { fetchPage } from './paging'
import type { HeadgateEvent } from './types'

export const eventsQuery = (pipeline?: string) =>
  infiniteQueryOptions({
    queryKey: keys.events(pipeline),
    queryFn: ({ pageParam, signal }) =>
      fetchPage<HeadgateEvent>('/events', { pipeline, limit: 50 }, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  })
