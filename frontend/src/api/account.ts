import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { makePasskey } from '@/lib/passkeys'

export const secondFactorQuery = queryOptions({
  queryKey: keys.secondFactor,
  queryFn: ({ signal }) => take(api.GET('/api/v1/session/second-factor', { signal })),
})

/** The secret of an authenticator application, as text and as a picture to scan. */
export const beginEnrolment = () => take(api.POST('/api/v1/session/second-factor/totp', { body: {} }))

/** Has the application count; the recovery codes are shown this once. */
export const confirmEnrolment = (code: string) =>
  take(api.PUT('/api/v1/session/second-factor/totp', { body: { code } }))

export const renewRecoveryCodes = () =>
  take(api.POST('/api/v1/session/second-factor/recovery-codes', { body: {} }))

export const removeAuthenticator = () => take(api.DELETE('/api/v1/session/second-factor/totp'))

/** Makes a passkey in the browser and keeps it. */
export async function addPasskey(name: string) {
  const { public_key } = await take(api.POST('/api/v1/session/passkeys/registration', { body: {} }))
  const credential = await makePasskey(public_key)
  return take(api.POST('/api/v1/session/passkeys', { body: { name, credential } }))
}

export const removePasskey = (id: number) =>
  take(api.DELETE('/api/v1/session/passkeys/{passkey_id}', { params: { path: { passkey_id: String(id) } } }))
