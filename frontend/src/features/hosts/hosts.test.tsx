import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Host } from '@/api/types'
import { T0 } from '@/testing/factories'
import { show } from '@/testing/render'
import { given } from '@/testing/server'
import { Drained, DrainButton } from './Draining'

const host = (fields: Partial<Host> = {}): Host => ({
  name: 'alpha',
  state: 'UP',
  seen_at: T0,
  supervised: true,
  agents: 2,
  cores: 8,
  memory_bytes: 1,
  state_dir: '/var/lib/headgate',
  version: '1',
  messages: null,
  lease_epoch: 1,
  slots: 4,
  memory_limit: null,
  promised: 2,
  memory_promised: 0,
  drained_at: null,
  drained_by: '',
  ...fields,
})

const session = { user: 'ana', role: 'operator', authenticated: true, csrf_token: 't' }

it('empties a host after a question, and opens it again without one', async () => {
  const asked = vi.fn()
  given.get('/session', () => session)
  given.post('/hosts/alpha/:what', (request) => {
    asked(new URL(request.url).pathname)
    return {}
  })
  const { unmount } = show(<DrainButton host={host()} />)
  await userEvent.click(await screen.findByRole('button', { name: 'Drain alpha' }))
  expect(await screen.findByRole('dialog', { name: 'Drain alpha?' })).toBeInTheDocument()
  expect(asked).not.toHaveBeenCalled()
  await userEvent.click(screen.getByRole('button', { name: 'Drain' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  unmount()
  show(<DrainButton host={host({ drained_at: T0, drained_by: 'ana' })} />)
  await userEvent.click(await screen.findByRole('button', { name: 'Open alpha' }))
  await waitFor(() =>
    expect(asked.mock.calls).toEqual([['/api/v1/hosts/alpha/drain'], ['/api/v1/hosts/alpha/undrain']]),
  )
})

it('says which host takes no new agents', () => {
  show(<Drained host={host({ drained_at: T0, drained_by: 'ana' })} />)
  expect(screen.getByText('Drained')).toBeInTheDocument()
})
