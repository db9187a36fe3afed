/** Whether this browser can make and use passkeys. */
export const canUsePasskeys = () =>
  typeof window.PublicKeyCredential === 'function' &&
  typeof window.PublicKeyCredential.parseRequestOptionsFromJSON === 'function'

/** What a passkey answers to a challenge; rejects where the user cancels. */
export async function answerChallenge(options: object): Promise<Record<string, unknown>> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as PublicKeyCredentialRequestOptionsJSON,
  )
  return asJson(await navigator.credentials.get({ publicKey }))
}

/** A new passkey, as the server keeps it. */
export async function makePasskey(options: object): Promise<Record<string, unknown>> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as PublicKeyCredentialCreationOptionsJSON,
  )
  return asJson(await navigator.credentials.create({ publicKey }))
}

function asJson(credential: Credential | null): Record<string, unknown> {
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser gave no passkey.')
  return credential.toJSON() as unknown as Record<string, unknown>
}
