import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { vi } from 'vitest'
import { api, hooks, take } from '@/api/client'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { SessionGate } from './SessionGate'

class SilentSource {
  addEventListener() {}
  close() {}
}
vi.stubGlobal('EventSource', SilentSource)

const anonymous = { authenticated: false, user: null, role: null, csrf_token: 'a' }
const admin = { authenticated: true, user: 'admin', role: 'admin', csrf_token: 'b' }

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

  it('says so when the server is away, and tries again on request', async () => {
    given.get('/session', () => Response.error())
    show(<SessionGate><Editor /></SessionGate>) // prettier-ignore
    const again = await screen.findByRole('button', { name: 'Try again' })
    given.get('/session', () => anonymous)
    await userEvent.click(again)
    expect(await screen.findByLabelText(/User name/)).toBeInTheDocument()
  })
})
