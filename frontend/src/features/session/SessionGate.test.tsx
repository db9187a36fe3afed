import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { vi } from 'vitest'
import { api, hooks, take } from '@/api/client'
import { putSecret } from '@/api/secrets'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import * as passkeys from '@/lib/passkeys'
import * as session from '@/lib/session'
import { SessionGate } from './SessionGate'

class SilentSource {
  addEventListener() {}
  close() {}
}
vi.stubGlobal('EventSource', SilentSource)

const anonymous = {
  authenticated: false,
  user: null,
  role: null,
  csrf_token: 'a',
  provider: null,
  problem: null,
}
const admin = {
  authenticated: true,
  user: 'admin',
  role: 'admin',
  csrf_token: 'b',
  provider: null,
  problem: null,
}

function Editor() {
  const [text, setText] = useState('')
  return <input aria-label="Text" value={text} onChange={(event) => setText(event.target.value)} />
}

async function logIn() {
  await userEvent.type(await screen.findByLabelText(/User name/), 'admin')
  await userEvent.type(screen.getByLabelText(/^Password/), 'secret')
  await userEvent.click(screen.getByRole('button', { name: 'Log in' }))
}

describe('the login', () => {
  it('stands before the page, says why it refuses, and lets in', async () => {
    given.get('/session', () => anonymous)
    given.post('/session', () => problem(401, 'wrong_credentials', 'User name or password is wrong.'))
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    await logIn()
    expect(await screen.findByRole('alert')).toHaveTextContent('User name or password is wrong.')
    expect(screen.queryByLabelText('Text')).not.toBeInTheDocument()

    given.post('/session', () => admin)
    await userEvent.click(screen.getByRole('button', { name: 'Log in' }))
    expect(await screen.findByLabelText('Text')).toBeInTheDocument()
    expect(hooks.csrfToken).toBe('b')
  })

  it('comes back when the session expires and loses nothing that was typed', async () => {
    given.get('/session', () => admin)
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    await userEvent.type(await screen.findByLabelText('Text'), 'half a definition')

    given.get('/session', () => anonymous)
    given.get('/hosts', () => problem(401, 'not_authenticated', 'Log in.'))
    await expect(take(api.GET('/api/v1/hosts'))).rejects.toThrow('Log in.')
    expect(await screen.findByText(/Your session has ended/)).toBeInTheDocument()

    given.post('/session', () => admin)
    await userEvent.type(screen.getByLabelText(/^Password/), 'secret')
    await userEvent.click(screen.getByRole('button', { name: 'Log in' }))
    await waitFor(() => expect(screen.queryByText(/Your session has ended/)).not.toBeInTheDocument())
    expect(screen.getByLabelText('Text')).toHaveValue('half a definition')
  })

  it('leads to the provider and back to the open address, and says why a sign-in failed', async () => {
    const told = { code: 'username_taken', detail: 'There is a user ana.', hint: 'Ask an administrator.' }
    given.get('/session', () => ({
      ...anonymous,
      provider: { button: 'Sign in with Keycloak' },
      problem: told,
    }))
    given.post('/session/oidc', async (request) => {
      expect(await request.json()).toEqual({ next: window.location.pathname, again: false })
      return { url: 'https://id.example.com/authorize' }
    })
    const left = vi.spyOn(session, 'leave').mockImplementation(() => {})
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    expect(await screen.findByRole('alert')).toHaveTextContent('There is a user ana.Ask an administrator.')
    await userEvent.click(screen.getByRole('button', { name: 'Sign in with Keycloak' }))
    await waitFor(() => expect(left.mock.calls[0]?.[0]).toBe('https://id.example.com/authorize'))
  })

  it('asks for a code where the password is not enough', async () => {
    given.get('/session', () => anonymous)
    given.post('/session', () => ({ ...anonymous, waits_for_code: true }))
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    await logIn()
    given.get('/session', () => ({ ...anonymous, waits_for_code: true }))
    given.post('/session/code', () => problem(401, 'bad_code', 'The code is wrong.'))
    await userEvent.type(await screen.findByLabelText('Code'), '000000')
    await userEvent.click(screen.getByRole('button', { name: 'Log in' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('The code is wrong.')

    given.post('/session/code', async (request) => {
      expect(await request.json()).toEqual({ code: '123456', passkey: null })
      return admin
    })
    await userEvent.clear(screen.getByLabelText('Code'))
    await userEvent.type(screen.getByLabelText('Code'), '123456')
    await userEvent.click(screen.getByRole('button', { name: 'Log in' }))
    expect(await screen.findByLabelText('Text')).toBeInTheDocument()
  })

  it('takes a passkey instead of the code', async () => {
    vi.spyOn(passkeys, 'canUsePasskeys').mockReturnValue(true)
    vi.spyOn(passkeys, 'answerChallenge').mockImplementation((options) =>
      Promise.resolve({ signed: options }),
    )
    given.get('/session', () => ({ ...anonymous, waits_for_code: true, passkeys: true }))
    given.post('/session/passkeys/challenge', () => ({ public_key: { challenge: 'c' } }))
    given.post('/session/code', async (request) => {
      expect(await request.json()).toEqual({ code: '', passkey: { signed: { challenge: 'c' } } })
      return admin
    })
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    await userEvent.click(await screen.findByRole('button', { name: 'Use passkey' }))
    expect(await screen.findByLabelText('Text')).toBeInTheDocument()
  })

  it('shows nothing before a second factor that the role needs', async () => {
    given.get('/session', () => ({ ...admin, enrolment_required: true }))
    given.post('/session/second-factor/totp', () => ({
      secret: 'ABC',
      uri: 'otpauth://x',
      picture: 'data:,',
    }))
    given.put('/session/second-factor/totp', () => ({ codes: ['aaaaa-bbbbb'] }))
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    await userEvent.click(await screen.findByRole('button', { name: 'Set up authenticator application' }))
    expect(await screen.findByText('ABC')).toBeInTheDocument()
    await userEvent.type(screen.getByLabelText('Code'), '123456')
    await userEvent.click(screen.getByRole('button', { name: 'Confirm' }))
    expect(await screen.findByText('aaaaa-bbbbb')).toBeInTheDocument()
    given.get('/session', () => admin)
    await userEvent.click(screen.getByRole('button', { name: 'I have kept the codes' }))
    expect(await screen.findByLabelText('Text')).toBeInTheDocument()
  })

  it('confirms who it is before a dangerous request is sent again', async () => {
    given.get('/session', () => ({ ...admin, proof: 'password_and_code' }))
    let isProven = false
    const sent: string[] = []
    given.put('/secrets/db', async (request) => {
      sent.push(await request.text())
      if (isProven) return { name: 'db', version: 2 }
      return problem(403, 'reauthentication_required', 'This needs a recent log-in.')
    })
    given.post('/session/proof', async (request) => {
      expect(await request.json()).toEqual({ password: 'secret', code: '123456', passkey: null })
      isProven = true
      return admin
    })
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    await screen.findByLabelText('Text')
    const first = putSecret('db', 'x', 'receivers', null).catch((error: Error) => error.message)
    await userEvent.click(await screen.findByRole('button', { name: 'Cancel' }))
    expect(await first).toBe('This needs a recent log-in.')

    const second = putSecret('db', 'x', 'receivers', null)
    await userEvent.type(await screen.findByLabelText(/^Password/), 'secret')
    await userEvent.type(screen.getByLabelText('Code'), '123456')
    await userEvent.click(screen.getByRole('button', { name: 'Confirm' }))
    expect((await second).version).toBe(2)
    const body = '{"value":"x","purpose":"receivers","team":null,"pipelines":null,"destinations":null}'
    expect(sent).toEqual([body, body, body])
  })

  it('leads a user of a provider back to it for the proof', async () => {
    given.get('/session', () => ({ ...admin, proof: 'provider' }))
    given.put('/secrets/db', () => problem(403, 'reauthentication_required', 'This needs a recent log-in.'))
    given.post('/session/oidc', async (request) => {
      expect(await request.json()).toMatchObject({ again: true })
      return { url: 'https://id.example.com/authorize?prompt=login' }
    })
    const left = vi.spyOn(session, 'leave').mockImplementation(() => {})
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    await screen.findByLabelText('Text')
    const waiting = putSecret('db', 'x', 'receivers', null).catch((error: Error) => error.message)
    await userEvent.click(await screen.findByRole('button', { name: 'Sign in again' }))
    await waitFor(() => expect(left.mock.calls[0]?.[0]).toContain('prompt=login'))
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }))
    expect(await waiting).toBe('This needs a recent log-in.')
  })

  it('tells a user without a role what to do', async () => {
    given.get('/session', () => ({ ...admin, role: null }))
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    expect(await screen.findByRole('heading', { name: 'You have no role yet' })).toBeInTheDocument()
    expect(screen.getByText(/You are logged in as admin/)).toBeInTheDocument()
    expect(screen.queryByLabelText('Text')).not.toBeInTheDocument()
  })

  it('says so when the server is away, and tries again on request', async () => {
    given.get('/session', () => Response.error())
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    const again = await screen.findByRole('button', { name: 'Try again' })
    given.get('/session', () => anonymous)
    await userEvent.click(again)
    expect(await screen.findByLabelText(/User name/)).toBeInTheDocument()
  })
})
