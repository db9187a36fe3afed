import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'

/** The JSON Schema of a whole definition; it changes with the server alone. */
export const definitionSchemaQuery = queryOptions({
  queryKey: keys.definitionSchema,
  queryFn: ({ signal }) => take(api.GET('/api/v1/definition-schema', { signal })),
  staleTime: Infinity,
})
