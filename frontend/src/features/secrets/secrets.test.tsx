import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { secret } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { DeleteSecretDialog } from './DeleteSecretDialog'
import { SecretDialog } from './SecretDialog'

describe('setting a secret', () => {
  it('sends name and value, and shows the value in a password field alone', async () => {
    const asked = vi.fn()
    const closed = vi.fn()
    given.put('/secrets/:name', async (request) => {
      asked(new URL(request.url).pathname, await request.json())
      return secret({ name: 'kafka/shop' })
    })
    show(<SecretDialog onClose={closed} />)
    const save = await screen.findByRole('button', { name: 'Set secret' })
    expect(save).toHaveAccessibleDescription('Enter a name first.')
    await userEvent.type(screen.getByLabelText('Name'), 'kafka/shop')
    const value = screen.getByLabelText('Value')
    expect(value).toHaveAttribute('type', 'password')
    await userEvent.type(value, 'canary')
    await userEvent.click(screen.getByRole('button', { name: 'Set secret' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(asked).toHaveBeenCalledWith('/api/v1/secrets/kafka%2Fshop', { value: 'canary' })
  })

  it('says what to do where the store has no key', async () => {
    given.put('/secrets/:name', () =>
      problem(409, 'secret_store_closed', 'The secret store is closed.', {
        hint: 'Run `headgate add-secret-key`.',
      }),
    )
    show(<SecretDialog secret={secret()} onClose={() => {}} />)
    await userEvent.type(await screen.findByLabelText('Value'), 'canary')
    await userEvent.click(screen.getByRole('button', { name: 'Replace secret' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('add-secret-key')
  })
})

describe('deleting a secret', () => {
  it('has to be confirmed while pipelines refer to it', async () => {
    const asked = vi.fn()
    given.delete('/secrets/:name', (request) => {
      asked(new URL(request.url).searchParams.get('force'))
      return new Response(null, { status: 204 })
    })
    const closed = vi.fn()
    show(<DeleteSecretDialog secret={secret({ used_by: ['orders'] })} onClose={closed} />)
    const remove = await screen.findByRole('button', { name: 'Delete secret' })
    expect(remove).toHaveAttribute('aria-disabled', 'true')
    await userEvent.click(screen.getByRole('checkbox', { name: /used by orders/ }))
    await userEvent.click(screen.getByRole('button', { name: 'Delete secret' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(asked).toHaveBeenCalledWith('true')
  })
})
