import { queryOptions } from '@tanstack/react-query'
import { api, hooks, take } from './client'
import { keys } from './keys'
import type { PasswordRequest, Session } from './types'
import { answerChallenge } from '@/lib/passkeys'

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

/** A code, or the answer of a passkey. */
export interface SecondStep {
  code: string
  passkey: Record<string, unknown> | null
}

export const byCode = (code: string): SecondStep => ({ code: code.trim(), passkey: null })

/** What a passkey answers to the challenge of this log-in or session. */
export async function askPasskey(): Promise<SecondStep> {
  const { public_key } = await take(api.POST('/api/v1/session/passkeys/challenge', { body: {} }))
  return { code: '', passkey: await answerChallenge(public_key) }
}

/** The second step of a log-in whose session waits for it. */
export async function takeSecondStep(step: SecondStep): Promise<Session> {
  return remember(await take(api.POST('/api/v1/session/code', { body: step })))
}

/** Shows again to be the user of the session. */
export async function proveSession(password: string, step: SecondStep): Promise<Session> {
  return remember(await take(api.POST('/api/v1/session/proof', { body: { password, ...step } })))
}

/** Ends all other sessions of the user. */
export async function changePassword(body: PasswordRequest): Promise<Session> {
  return remember(await take(api.POST('/api/v1/session/password', { body })))
}

/** Where the browser continues to sign in at the provider. */
export async function signIn(next: string, again = false): Promise<string> {
  const { url } = await take(api.POST('/api/v1/session/oidc', { body: { next, again } }))
  return url
}

export const logOut = () => take(api.DELETE('/api/v1/session'))
