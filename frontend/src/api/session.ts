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

/** The second step of a log-in whose session waits for a code. */
export async function giveCode(code: string): Promise<Session> {
  return remember(await take(api.POST('/api/v1/session/code', { body: { code } })))
}

/** Shows again to be the user of the session. */
export async function proveSession(password: string, code: string): Promise<Session> {
  return remember(await take(api.POST('/api/v1/session/proof', { body: { password, code } })))
}

/** Where the browser goes on to sign in at the provider. */
export async function signIn(next: string, again = false): Promise<string> {
  const { url } = await take(api.POST('/api/v1/session/oidc', { body: { next, again } }))
  return url
}

export const logOut = () => take(api.DELETE('/api/v1/session'))
