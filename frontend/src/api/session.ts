import { queryOptions } from '@tanstack/react-query'
import { api, hooks } from './client'
import { keys } from './keys'
import type { Session } from './types'

function remember(session: Session): Session {
  hooks.csrfToken = session.csrf_token
  return session
}

export const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: async ({ signal }) => remember(await api.get<Session>('/session', { signal })),
  staleTime: Infinity,
})

export async function logIn(username: string, password: string): Promise<Session> {
  return remember(await api.post<Session>('/session', { body: { username, password } }))
}

export const logOut = () => api.delete('/session')
