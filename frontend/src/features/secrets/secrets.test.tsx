import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Secret } from '@/api/types'
import { OutdatedSecrets } from '@/features/pipeline/OutdatedSecrets'
import { READ_ONLY, READ_ONLY_WORDS, secret, session } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { BindSecretDialog } from './BindSecretDialog'
import { DeleteSecretDialog } from './DeleteSecretDialog'
import { SecretDialog } from './SecretDialog'
import { SecretTable } from './SecretTable'

beforeEach(() => {
  given.get('/session', () => session('admin'))
  given.get('/teams', () => ({ results: [], next: null }))
})

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
    expect(save).toHaveAccessibleDescription('Enter the pipelines that may use it first.')
    await userEvent.type(screen.getByLabelText('Pipelines'), 'orders, label:team=a')
    expect(save).toHaveAccessibleDescription('Enter where it may go first.')
    await userEvent.type(screen.getByLabelText('Destinations'), 'broker:9093 sink/http')
    await userEvent.click(screen.getByRole('button', { name: 'Set secret' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(asked).toHaveBeenCalledWith('/api/v1/secrets/kafka%2Fshop', {
      value: 'canary',
      purpose: 'pipelines',
      team: null,
      pipelines: ['orders', 'label:team=a'],
      destinations: ['broker:9093', 'sink/http'],
    })
  })

  it('keeps the binding when a value is replaced, and needs none for receivers', async () => {
    const asked = vi.fn()
    given.put('/secrets/:name', async (request) => {
      asked(await request.json())
      return secret()
    })
    show(<SecretDialog secret={secret({ purpose: 'receivers' })} onClose={() => {}} />)
    await userEvent.type(await screen.findByLabelText('Value'), 'canary')
    expect(screen.queryByLabelText('Pipelines')).toBeNull()
    await userEvent.click(screen.getByRole('button', { name: 'Replace secret' }))
    await waitFor(() =>
      expect(asked).toHaveBeenCalledWith({
        value: 'canary',
        purpose: 'receivers',
        team: null,
        pipelines: null,
        destinations: null,
      }),
    )
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

describe('the team of a secret', () => {
  const teams = [
    { name: 'payments', role: 'admin' as const },
    { name: 'shops', role: 'admin' as const },
    { name: 'risk', role: 'operator' as const },
  ]

  it('is one that the user administers', async () => {
    given.get('/session', () => ({ ...session('admin'), everywhere: null }))
    given.get('/teams', () => ({ results: teams, next: null }))
    const asked = vi.fn()
    given.put('/secrets/:name', async (request) => {
      asked(await request.json())
      return secret({ team: 'payments' })
    })
    show(<SecretDialog onClose={() => {}} />)
    const team = await screen.findByRole('combobox', { name: 'Team' })
    expect(screen.queryByRole('option', { name: 'risk' })).toBeNull()
    await userEvent.selectOptions(team, 'payments')
    await userEvent.type(screen.getByLabelText('Name'), 'shop')
    await userEvent.type(screen.getByLabelText('Value'), 'canary')
    await userEvent.type(screen.getByLabelText('Pipelines'), 'orders')
    await userEvent.type(screen.getByLabelText('Destinations'), 'broker:9093')
    await userEvent.click(screen.getByRole('button', { name: 'Set secret' }))
    await waitFor(() => expect(asked).toHaveBeenCalledWith(expect.objectContaining({ team: 'payments' })))
  })

  const table = (rows: Secret[]) => {
    const no = () => {}
    showRouted(<SecretTable secrets={rows} onBind={no} onReplace={no} onDelete={no} />)
  }
  const deleting = (name: string) => screen.getByRole('button', { name: `Delete ${name}` })

  it('is shown in the list, and decides who may change it', async () => {
    given.get('/session', () => ({ ...session('admin'), everywhere: null }))
    given.get('/teams', () => ({ results: teams, next: null }))
    const rows = [
      secret({ team: 'payments' }),
      secret({ name: 'other', team: 'risk' }),
      secret({ name: 'all' }),
    ]
    table(rows)
    const first = within((await screen.findAllByRole('row'))[1]!)
    expect(await first.findByText('payments')).toBeVisible()
    expect(deleting('shop')).not.toHaveAccessibleDescription()
    expect(deleting('other')).toHaveAccessibleDescription('Only administrators of the team risk can do this.')
    expect(deleting('all')).toHaveAccessibleDescription(/^The installation owns this/)
  })

  it('refuses nothing for want of rights while the teams are read', async () => {
    given.get('/session', () => ({ ...session('admin'), everywhere: null }))
    let answer = () => {}
    given.get('/teams', async () => {
      await new Promise<void>((resolve) => (answer = resolve))
      return { results: teams, next: null }
    })
    table([secret({ team: 'payments' })])
    await waitFor(() => expect(deleting('shop')).toHaveAccessibleDescription('The teams are being read.'))
    answer()
    await waitFor(() => expect(deleting('shop')).not.toHaveAccessibleDescription())
  })

  it('is changed by nobody while the installation is read-only', async () => {
    given.get('/session', () => ({ ...session('admin'), read_only: READ_ONLY }))
    table([secret()])
    await waitFor(() => expect(deleting('shop')).toHaveAccessibleDescription(READ_ONLY_WORDS))
  })
})

describe('binding a secret', () => {
  it('sends both lists, and says what ends with it', async () => {
    const asked = vi.fn()
    given.patch('/secrets/:name', async (request) => {
      asked(new URL(request.url).pathname, await request.json())
      return secret()
    })
    show(<BindSecretDialog secret={secret({ unencrypted: ['old:9092'] })} onClose={() => {}} />)
    expect(await screen.findByText(/old:9092 without encryption/)).toBeVisible()
    await userEvent.type(screen.getByLabelText('Destinations'), ', other:9093')
    await userEvent.click(screen.getByRole('button', { name: 'Change binding' }))
    await waitFor(() =>
      expect(asked).toHaveBeenCalledWith('/api/v1/secrets/shop', {
        team: null,
        pipelines: ['orders'],
        destinations: ['broker:9093', 'other:9093'],
      }),
    )
  })
})

describe('the list of secrets', () => {
  it('shows bindings, who runs with an older version, and what is bound to nothing', async () => {
    const rows = [
      secret({ used_by: ['orders', 'consumer-groups/g'], outdated: ['orders'], unencrypted: ['b:1'] }),
      secret({ name: 'idle', pipelines: [], destinations: [] }),
      secret({ name: 'hooks', purpose: 'receivers', receivers: [3] }),
    ]
    const bound = vi.fn()
    const no = () => {}
    showRouted(<SecretTable secrets={rows} onBind={bound} onReplace={no} onDelete={no} />)
    const first = within((await screen.findAllByRole('row'))[1]!)
    expect(first.getByText('Outdated')).toBeVisible()
    expect(first.getByText('Not encrypted')).toBeVisible()
    expect(first.getByText(/orders → broker:9093/)).toBeVisible()
    expect(screen.getByText('Nothing')).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Bind hooks' })).toBeNull()
    const bind = () => screen.getByRole('button', { name: 'Bind shop' })
    await waitFor(() => expect(bind()).not.toHaveAccessibleDescription())
    await userEvent.click(bind())
    expect(bound).toHaveBeenCalledWith(rows[0])
  })
})

describe('what is kept elsewhere', () => {
  it('is bound without a value', async () => {
    const asked = vi.fn()
    given.put('/secrets/:name', async (request) => {
      asked(decodeURIComponent(new URL(request.url).pathname), await request.json())
      return secret({ name: 'vault:kv/shop#password', backend: 'vault', version: 0 })
    })
    show(<SecretDialog onClose={() => {}} />)
    const name = await screen.findByLabelText('Name')
    await userEvent.type(name, 'vault:kv/../shop#x')
    expect(screen.getAllByText(/Write vault:MOUNT/)[0]).toBeVisible()
    expect(screen.queryByLabelText('Value')).toBeNull()
    await userEvent.clear(name)
    await userEvent.type(name, 'vault:kv/shop#password')
    await userEvent.type(screen.getByLabelText('Pipelines'), 'orders')
    await userEvent.type(screen.getByLabelText('Destinations'), 'broker:9093')
    await userEvent.click(screen.getByRole('button', { name: 'Set secret' }))
    await waitFor(() =>
      expect(asked).toHaveBeenCalledWith(
        '/api/v1/secrets/vault:kv/shop#password',
        expect.objectContaining({ value: null, pipelines: ['orders'], destinations: ['broker:9093'] }),
      ),
    )
  })

  it('has no version until one is known, and is not replaced here', async () => {
    const rows = [secret({ name: 'env:PASSWORD', backend: 'env', version: 0, readable: null })]
    const no = () => {}
    showRouted(<SecretTable secrets={rows} onBind={no} onReplace={no} onDelete={no} />)
    expect(await screen.findByRole('button', { name: 'Bind env:PASSWORD' })).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Replace env:PASSWORD' })).toBeNull()
    expect(screen.queryByText('Store locked')).toBeNull()
  })
})

describe('a run with older values', () => {
  it('is said on the page of its pipeline', async () => {
    const outdated_secrets = [{ name: 'shop', running: 1, current: 3 }]
    show(<OutdatedSecrets status={{ outdated_secrets }} />)
    expect(await screen.findByText(/version 1, the current one is 3/)).toBeVisible()
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
