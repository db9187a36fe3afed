import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'

export const secretsQuery = queryOptions({
  queryKey: keys.secrets,
  queryFn: ({ signal }) =>
    fetchAll((cursor) =>
      take(api.GET('/api/v1/secrets', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const putSecret = (name: string, value: string) =>
  take(api.PUT('/api/v1/secrets/{name}', { params: { path: { name } }, body: { value } }))

export const deleteSecret = (name: string, force: boolean) =>
  take(api.DELETE('/api/v1/secrets/{name}', { params: { path: { name }, query: { force } } }))
