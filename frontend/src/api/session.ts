import { queryOptions } from '@tanstack/react-query'
import { api, hooks, take } from './client'
import { keys } from './keys'
import type { Session } from './types'

function remember(session: Session): Session {
  hooks.csrfToken = session.csrf_token
  return session
}

export const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: async ({ signal }) => remember(await take(api.GET('/api/v1/session', { signal }))),
  staleTime: Infinity,
})

export async function logIn(username: string, password: string): Promise<Session> {
  return remember(await take(api.POST('/api/v1/session', { body: { username, password } })))
}

/** Where the browser goes on to sign in at the provider. */
export async function signIn(next: string): Promise<string> {
  const { url } = await take(api.POST('/api/v1/session/oidc', { body: { next } }))
  return url
}

export const logOut = () => take(api.DELETE('/api/v1/session'))
