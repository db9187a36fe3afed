import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { READ_ONLY, READ_ONLY_WORDS, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { AccessPage } from './AccessPage'

const token = {
  id: 'hg_0123456789ab',
  name: 'ci',
  user: 'ana',
  created_at: '2026-03-02T08:00:00Z',
  created_by: 'ana',
  expires_at: null as string | null,
  expired: false,
  role_cap: 'viewer',
  team: null,
  read_only: true,
  sees_records: true,
  last_used_at: null,
  last_used_address: '',
}
const user = {
  username: 'ben',
  role: 'operator',
  teams: [{ team: 'payments', role: 'admin' }],
  active: true,
  created_at: '2026-03-02T08:00:00Z',
  last_login_at: null,
  password: false,
  provider: false,
  second_factor: false,
  tokens: 1,
}

const team = {
  name: 'payments',
  description: 'Cards',
  role: 'admin',
  pipelines: 3,
  created_at: '2026-03-02T08:00:00Z',
  created_by: 'ana',
}
const binding = {
  id: 7,
  team: 'payments',
  user: null,
  group: 'oidc:cards',
  role: 'operator',
  created_at: '2026-03-02T08:00:00Z',
  created_by: 'ana',
}

function open(role: 'viewer' | 'admin', tokens: object[] = [token], own: object = team) {
  given.get('/session', () => session(role))
  given.get('/tokens', () => ({ results: tokens, next: null }))
  given.get('/teams', () => ({ results: [own], next: null }))
  given.get('/users', () => ({ results: [user], next: null }))
  showRouted(<AccessPage />)
}

describe('users and tokens', () => {
  it('creates a token that is good in one team', async () => {
    const asked = vi.fn()
    open('admin', [])
    given.post('/tokens', async (request) => {
      asked(await request.json())
      return { ...token, text: 'hg_0123456789abcdef' }
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Create token' }))
    await userEvent.type(await screen.findByLabelText('Name'), 'ci')
    await userEvent.selectOptions(await screen.findByLabelText('Team'), 'payments')
    await userEvent.click(screen.getAllByRole('button', { name: 'Create token' }).at(-1)!)
    await waitFor(() => expect(asked).toHaveBeenCalledWith(expect.objectContaining({ team: 'payments' })))
  })

  it('creates a token and shows its text once', async () => {
    open('viewer', [])
    await userEvent.click(await screen.findByRole('button', { name: 'Create token' }))
    await userEvent.type(await screen.findByLabelText('Name'), 'ci')
    given.post('/tokens', async (request) => {
      expect(await request.json()).toEqual({
        name: 'ci',
        user: null,
        days: 90,
        role_cap: null,
        team: null,
        read_only: false,
        sees_records: true,
      })
      return { ...token, text: 'hg_0123456789abcdef' }
    })
    const buttons = screen.getAllByRole('button', { name: 'Create token' })
    await userEvent.click(buttons[buttons.length - 1]!)
    expect(await screen.findByText('hg_0123456789abcdef')).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'I have copied the token' }))
    await waitFor(() => expect(screen.queryByText('hg_0123456789abcdef')).not.toBeInTheDocument())
    expect(screen.queryByText('Users')).not.toBeInTheDocument()
  })

  it('warns about a token without an end and revokes it', async () => {
    open('viewer')
    expect(await screen.findByText('Never expires')).toBeInTheDocument()
    expect(screen.getByText('viewer, read-only')).toBeInTheDocument()
    given.delete('/tokens/hg_0123456789ab', () => new Response(null, { status: 204 }))
    given.get('/tokens', () => ({ results: [], next: null }))
    await userEvent.click(screen.getByRole('button', { name: 'Revoke hg_0123456789ab' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Revoke token' }))
    expect(await screen.findByText('No tokens yet')).toBeInTheDocument()
  })

  it('lets administrators disable a user', async () => {
    open('admin')
    const disable = await screen.findByRole('button', { name: 'Disable ben' })
    given.patch('/users/ben', async (request) => {
      expect(await request.json()).toEqual({ active: false, role: null })
      return { ...user, active: false }
    })
    given.get('/users', () => ({ results: [{ ...user, active: false }], next: null }))
    await userEvent.click(disable)
    expect(await screen.findByRole('button', { name: 'Enable ben' })).toBeInTheDocument()
  })
  it('lets administrators create a user and give one another role', async () => {
    open('admin')
    await userEvent.click(await screen.findByRole('button', { name: 'Create user' }))
    await userEvent.type(await screen.findByLabelText('Username'), 'deploy')
    await userEvent.selectOptions(screen.getByLabelText('Role'), 'Operator')
    given.post('/users', async (request) => {
      expect(await request.json()).toEqual({
        username: 'deploy',
        role: 'operator',
        team: null,
        password: null,
      })
      return { ...user, username: 'deploy' }
    })
    given.get('/users', () => ({ results: [user, { ...user, username: 'deploy' }], next: null }))
    const buttons = screen.getAllByRole('button', { name: 'Create user' })
    await userEvent.click(buttons[buttons.length - 1]!)
    const role = await screen.findByLabelText('Role of deploy')
    expect(role).toHaveValue('operator')

    given.patch('/users/deploy', async (request) => {
      expect(await request.json()).toEqual({ active: null, role: 'admin' })
      return { ...user, username: 'deploy', role: 'admin' }
    })
    given.get('/users', () => ({
      results: [user, { ...user, username: 'deploy', role: 'admin' }],
      next: null,
    }))
    await userEvent.selectOptions(role, 'Administrator')
    await waitFor(() => expect(screen.getByLabelText('Role of deploy')).toHaveValue('admin'))
  })

  it('lets administrators create a team and bind roles in it', async () => {
    open('admin')
    expect(await screen.findByText('Administrator in payments')).toBeInTheDocument()
    given.get('/teams/payments/bindings', () => ({ results: [binding], next: null }))
    await userEvent.click(await screen.findByRole('button', { name: 'Show roles in payments' }))
    expect(await screen.findByText('oidc:cards')).toBeInTheDocument()
    given.put('/teams/payments/bindings', async (request) => {
      expect(await request.json()).toEqual({
        ...{ user: 'ben', group: null, role: 'approver' },
        sees_records: true,
      })
      given.get('/teams/payments/bindings', () => ({ results: [], next: null }))
      return { ...binding, id: 8, user: 'ben', group: null, role: 'approver' }
    })
    await userEvent.type(screen.getByLabelText('User or group'), 'ben')
    await userEvent.selectOptions(screen.getByLabelText('Role'), 'approver')
    await userEvent.click(screen.getByRole('button', { name: 'Set role' }))
    expect(await screen.findByText('No roles yet')).toBeInTheDocument()
  })

  it('says beforehand what a read-only installation refuses, and revokes tokens', async () => {
    open('admin')
    given.get('/session', () => ({ ...session('admin'), read_only: READ_ONLY }))
    given.get('/teams', () => ({ results: [{ ...team, pipelines: 0 }], next: null }))
    given.get('/teams/payments/bindings', () => ({ results: [binding], next: null }))
    for (const name of ['Disable ben', 'Delete payments'])
      expect(await screen.findByRole('button', { name })).toHaveAccessibleDescription(READ_ONLY_WORDS)
    const role = screen.getByRole('combobox', { name: 'Role of ben' })
    expect(role).toBeDisabled()
    expect(role).toHaveAccessibleDescription(READ_ONLY_WORDS)
    await userEvent.click(screen.getByRole('button', { name: 'Show roles in payments' }))
    for (const name of ['Remove the role of oidc:cards', 'Set role'])
      expect(await screen.findByRole('button', { name })).toHaveAccessibleDescription(READ_ONLY_WORDS)
    const revoked = vi.fn()
    given.delete('/tokens/hg_0123456789ab', () => {
      revoked()
      return new Response(null, { status: 204 })
    })
    await userEvent.keyboard('{Escape}')
    await userEvent.click(await screen.findByRole('button', { name: 'Revoke hg_0123456789ab' }))
    const asked = await screen.findByRole('dialog', { name: 'Revoke hg_0123456789ab?' })
    expect(revoked).not.toHaveBeenCalled()
    await userEvent.click(within(asked).getByRole('button', { name: 'Revoke token' }))
    await waitFor(() => expect(revoked).toHaveBeenCalled())
  })

  it('asks once before a team is deleted', async () => {
    open('admin')
    given.get('/teams', () => ({ results: [{ ...team, pipelines: 0 }], next: null }))
    const deleted = vi.fn()
    given.delete('/teams/payments', () => {
      deleted()
      return new Response(null, { status: 204 })
    })
    await userEvent.click(await screen.findByRole('button', { name: 'Delete payments' }))
    const asked = await screen.findByRole('dialog', { name: 'Delete payments?' })
    expect(deleted).not.toHaveBeenCalled()
    await userEvent.click(within(asked).getByRole('button', { name: 'Delete team' }))
    await waitFor(() => expect(deleted).toHaveBeenCalled())
  })

  it('says beforehand that a team is not empty, that the default one stays, and what users cannot do to themselves', async () => {
    open('admin')
    given.get('/users', () => ({ results: [{ ...user, username: 'ana' }], next: null }))
    given.get('/teams', () => ({ results: [team, { ...team, name: 'default' }], next: null }))
    expect(await screen.findByRole('button', { name: 'Delete payments' })).toHaveAccessibleDescription(
      'It owns 3 pipelines.',
    )
    expect(screen.getByRole('button', { name: 'Delete default' })).toHaveAccessibleDescription(
      'The default team cannot be deleted.',
    )
    expect(await screen.findByRole('combobox', { name: 'Role of ana' })).toHaveAccessibleDescription(
      'You cannot change your own role.',
    )
  })

  it('shows members their teams, and no roles of others', async () => {
    open('viewer', [token], { ...team, role: 'viewer' })
    expect(await screen.findByText('Your teams')).toBeInTheDocument()
    expect(screen.queryByRole('button', { name: 'Show roles in payments' })).not.toBeInTheDocument()
    expect(screen.queryByRole('button', { name: 'Create team' })).not.toBeInTheDocument()
  })
})
