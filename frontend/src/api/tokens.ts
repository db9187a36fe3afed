import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { TokenRequest, UserChange, UserRequest } from './types'

/** The tokens of everyone, or those of the user who asks. */
export const tokensQuery = (all: boolean) =>
  queryOptions({
    queryKey: [...keys.tokens, all] as const,
    queryFn: ({ signal }) =>
      fetchAll((cursor) =>
        take(api.GET('/api/v1/tokens', { params: { query: { cursor, limit: PAGE_SIZE, all } }, signal })),
      ),
  })

export const usersQuery = queryOptions({
  queryKey: keys.users,
  queryFn: ({ signal }) =>
    fetchAll((cursor) =>
      take(api.GET('/api/v1/users', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

/** The answer has the text of the token, this once. */
export const createToken = (body: TokenRequest) => take(api.POST('/api/v1/tokens', { body }))

export const revokeToken = (id: string) =>
  take(api.DELETE('/api/v1/tokens/{token_key}', { params: { path: { token_key: id } } }))

export const createUser = (body: UserRequest) => take(api.POST('/api/v1/users', { body }))

/** Another role, or enabled or disabled; what is null stays. */
export const changeUser = (username: string, body: UserChange) =>
  take(api.PATCH('/api/v1/users/{username}', { params: { path: { username } }, body }))
