import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'

/** A function that expressions in SQL may call. */
export interface SqlFunction {
  name: string
  signature: string
  description: string
}

/** The functions of the interceptor `sql`, out of the catalogue of components. */
export const sqlFunctionsQuery = queryOptions({
  queryKey: keys.componentTypes,
  queryFn: ({ signal }) => take(api.GET('/api/v1/components', { signal })),
  select: (types): SqlFunction[] =>
    (types.find(({ kind, type }) => kind === 'interceptor' && type === 'sql')?.schema.functions ??
      []) as SqlFunction[],
  staleTime: Infinity,
})
