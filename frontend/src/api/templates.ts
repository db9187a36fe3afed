import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'

/** Definitions to start from; they change with an update of Headgate alone. */
export const templatesQuery = queryOptions({
  queryKey: keys.templates,
  queryFn: ({ signal }) => take(api.GET('/api/v1/templates', { signal })),
  staleTime: Infinity,
})
