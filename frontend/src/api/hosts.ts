import { queryOptions } from '@tanstack/react-query'
import { api } from './client'
import { keys } from './keys'
import type { Host, Page } from './types'

/** Hosts come as a bare list or in the list envelope. */
export const hostsQuery = queryOptions({
  queryKey: keys.hosts,
  queryFn: async ({ signal }) => {
    const answer = await api.get<Host[] | Page<Host>>('/hosts', { signal })
    return Array.isArray(answer) ? answer : answer.results
  },
})
