import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import * as passkeys from '@/lib/passkeys'
import { session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { AccountPage } from './AccountPage'

const factor = {
  totp: false,
  passkeys: [] as object[],
  recovery_codes: 0,
  required: false,
  usable: true,
  passkeys_available: true,
}

function open(changes: Partial<typeof factor> = {}) {
  given.get('/session', () => session())
  given.get('/session/second-factor', () => ({ ...factor, ...changes }))
  showRouted(<AccountPage />)
}

describe('the account', () => {
  it('sets up an authenticator application', async () => {
    open()
    given.post('/session/second-factor/totp', () => ({
      secret: 'ABC',
      uri: 'otpauth://x',
      picture: 'data:,',
    }))
    await userEvent.click(await screen.findByRole('button', { name: 'Set up authenticator application' }))
    expect(await screen.findByAltText('Secret to scan')).toHaveAttribute('src', 'data:,')
    given.put('/session/second-factor/totp', () => problem(422, 'bad_code', 'This is not the code.'))
    await userEvent.type(screen.getByLabelText('Code'), '000000')
    await userEvent.click(screen.getByRole('button', { name: 'Confirm' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('This is not the code.')

    given.put('/session/second-factor/totp', () => ({ codes: ['aaaaa-bbbbb', 'ccccc-ddddd'] }))
    await userEvent.click(screen.getByRole('button', { name: 'Confirm' }))
    expect(await screen.findByText(/ccccc-ddddd/)).toBeInTheDocument()
    given.get('/session/second-factor', () => ({ ...factor, totp: true, recovery_codes: 2 }))
    await userEvent.click(screen.getByRole('button', { name: 'I have kept the codes' }))
    expect(await screen.findByText(/2 recovery codes left/)).toBeInTheDocument()
  })

  it('changes the password, and shows why a weak one is refused', async () => {
    open()
    const button = await screen.findByRole('button', { name: 'Change password' })
    expect(button).toHaveAttribute('aria-disabled', 'true')
    await userEvent.type(screen.getByLabelText('Present password'), 'old one')
    await userEvent.type(screen.getByLabelText('New password'), 'short')
    given.post('/session/password', () => problem(422, 'weak_password', 'The password is too weak.'))
    await userEvent.click(screen.getByRole('button', { name: 'Change password' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('The password is too weak.')

    await userEvent.click(screen.getByLabelText('Keep my tokens valid'))
    given.post('/session/password', async (request) => {
      expect(await request.json()).toEqual({ present: 'old one', wanted: 'short', keep_tokens: true })
      return session()
    })
    await userEvent.click(screen.getByRole('button', { name: 'Change password' }))
    expect(await screen.findByText(/your other sessions have ended/)).toBeInTheDocument()
    expect(screen.getByLabelText('Present password')).toHaveValue('')
  })

  it('replaces recovery codes and removes the application', async () => {
    open({ totp: true, recovery_codes: 1 })
    given.post('/session/second-factor/recovery-codes', () => ({ codes: ['eeeee-fffff'] }))
    expect(await screen.findByText(/1 recovery code left/)).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'Replace recovery codes' }))
    expect(await screen.findByText('eeeee-fffff')).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'I have kept the codes' }))
    given.delete('/session/second-factor/totp', () => new Response(null, { status: 204 }))
    given.get('/session/second-factor', () => factor)
    await userEvent.click(await screen.findByRole('button', { name: 'Remove application' }))
    expect(
      await screen.findByRole('button', { name: 'Set up authenticator application' }),
    ).toBeInTheDocument()
  })

  it('adds a passkey and removes it', async () => {
    vi.spyOn(passkeys, 'canUsePasskeys').mockReturnValue(true)
    vi.spyOn(passkeys, 'makePasskey').mockImplementation((options) => Promise.resolve({ made: options }))
    open({ totp: true })
    given.post('/session/passkeys/registration', () => ({ public_key: { challenge: 'c' } }))
    given.post('/session/passkeys', async (request) => {
      expect(await request.json()).toEqual({ name: 'key', credential: { made: { challenge: 'c' } } })
      return { codes: [] }
    })
    await userEvent.type(await screen.findByLabelText('Name of the new passkey'), 'key')
    const added = { id: 7, name: 'key', created_at: '2026-03-02T08:00:00Z', used_at: null }
    given.get('/session/second-factor', () => ({ ...factor, totp: true, passkeys: [added] }))
    await userEvent.click(screen.getByRole('button', { name: 'Add passkey' }))
    given.delete('/session/passkeys/7', () => new Response(null, { status: 204 }))
    const remove = await screen.findByRole('button', { name: 'Remove passkey key' })
    given.get('/session/second-factor', () => ({ ...factor, totp: true }))
    await userEvent.click(remove)
    await waitFor(() => expect(remove).not.toBeInTheDocument())
  })

  it('leaves users of a provider to it', async () => {
    open({ usable: false })
    expect(await screen.findByText(/You sign in at a provider/)).toBeInTheDocument()
  })
})
