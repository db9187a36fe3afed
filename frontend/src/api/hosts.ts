import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'

export const hostsQuery = queryOptions({
  queryKey: keys.hosts,
  queryFn: ({ signal }) => take(api.GET('/api/v1/hosts', { signal })),
})
