import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { ExternalGroup } from '@/api/types'
import { session, T0, team } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { GroupsPage } from './GroupsPage'
import { WatchDialog } from './WatchDialog'

function group(fields: Partial<ExternalGroup> = {}): ExternalGroup {
  return {
    id: 4,
    team: 'payments',
    group: 'billing',
    bootstrap_servers: 'kafka:9092',
    interval: 60,
    max_rate: null,
    leap_records: null,
    host: null,
    created_at: T0,
    created_by: 'ana',
    inspected_at: T0,
    error: '',
    state: 'Stable',
    simple: false,
    coordinator: '',
    members: [],
    records: 7,
    ...fields,
  }
}

function inTeams(...names: string[]) {
  given.get('/session', () => ({ ...session('operator'), everywhere: null }))
  given.get('/teams', () => ({ results: names.map((name) => team(name, 'operator')), next: null }))
}

describe('monitoring a group', () => {
  it('is for the team that was chosen', async () => {
    const asked = vi.fn()
    const closed = vi.fn()
    inTeams('payments', 'risk')
    given.post('/consumer-groups', async (request) => {
      asked(await request.json())
      return group()
    })
    show(<WatchDialog onClose={closed} />)
    await userEvent.type(await screen.findByLabelText('Group'), 'billing')
    await userEvent.type(screen.getByLabelText('Brokers'), 'kafka:9092')
    await userEvent.selectOptions(await screen.findByLabelText('Team'), 'risk')
    await userEvent.click(screen.getByRole('button', { name: 'Monitor group' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(asked.mock.calls[0]?.[0]).toMatchObject({ group: 'billing', team: 'risk' })
  })

  it('says which team is missing at the field, and the rest below', async () => {
    inTeams('payments')
    const finding = (path: string, message: string) => ({ path, code: 'c', message, suggestion: '' })
    given.post('/consumer-groups', () =>
      problem(422, 'team_missing', 'It needs a team.', {
        findings: [finding('team', 'You are in several.'), finding('bootstrap_servers', 'No port.')],
      }),
    )
    show(<WatchDialog onClose={vi.fn()} />)
    await userEvent.type(await screen.findByLabelText('Group'), 'billing')
    await userEvent.type(screen.getByLabelText('Brokers'), 'kafka')
    await userEvent.click(screen.getByRole('button', { name: 'Monitor group' }))
    expect(await screen.findByLabelText('Team')).toHaveAccessibleDescription(/You are in several./)
    expect(screen.getByRole('alert')).toHaveTextContent('bootstrap_servers: No port.')
  })
})

describe('the list of groups', () => {
  const heads = async () => {
    const table = await screen.findByRole('table', { name: 'Consumer groups' })
    return within(table)
      .getAllByRole('columnheader')
      .map((each) => each.textContent)
  }

  it('says whose each is where the user sees several teams', async () => {
    inTeams('payments', 'risk')
    given.get('/consumer-groups', () => ({ results: [group(), group({ id: 5, team: null })], next: null }))
    showRouted(<GroupsPage />)
    await waitFor(async () => expect(await heads()).toContain('Team'))
    const [, ofTeam, ofAll] = screen.getAllByRole('row')
    expect(ofTeam).toHaveTextContent('payments')
    expect(ofAll).toHaveTextContent('Installation')
  })

  it('says nothing of teams to the members of one', async () => {
    inTeams('payments')
    given.get('/consumer-groups', () => ({ results: [group()], next: null }))
    showRouted(<GroupsPage />)
    expect(await heads()).not.toContain('Team')
  })
})
