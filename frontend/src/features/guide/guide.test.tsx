import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { DemoFault, Guide } from '@/api/types'
import { useFirstLogin } from '@/app/shell/useFirstLogin'
import { session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { GuidePage } from './GuidePage'

const TEXT = { breaks: 'Sends SIGKILL.', expect: 'It comes back.' }

function fault(fields: Partial<DemoFault> = {}): DemoFault {
  return {
    id: '1',
    card: 'kill-agent',
    state: 'BROKEN',
    requested_by: 'ana',
    requested_at: '2026-03-01T09:00:00Z',
    broken_at: '2026-03-01T09:00:01Z',
    noticed_at: null,
    recovered_at: null,
    ended_at: null,
    broken: 'Killed process 7.',
    noticed: '',
    explained: '',
    link: '',
    recovered: '',
    counted: null,
    error: '',
    ...fields,
  }
}

function guide(last: DemoFault | null): Guide {
  return {
    pipeline: 'demo',
    open: last && !last.ended_at ? last.card : null,
    cards: [
      { card: 'kill-agent', title: 'Kill the agent', ...TEXT, last },
      { card: 'freeze-sink', title: 'Freeze the sink', ...TEXT, last: null },
    ],
  }
}

beforeEach(() => given.get('/session', () => ({ ...session('operator'), demo_pipeline: 'demo' })))

it('shows what was observed of a card, and what was counted', async () => {
  given.get('/pipelines/demo/guide', () =>
    guide(
      fault({
        state: 'DONE',
        noticed_at: '2026-03-01T09:00:03Z',
        recovered_at: '2026-03-01T09:00:10Z',
        ended_at: '2026-03-01T09:00:11Z',
        noticed: 'Run 1 ended.',
        explained: 'Signal 9.',
        link: '/pipelines/demo/runs',
        recovered: 'Run 2 delivers.',
        counted: { records: 1200, missing: 0, duplicates: 0, possible_duplicates: 500, balanced: true },
      }),
    ),
  )
  showRouted(<GuidePage />)
  const [card] = await screen.findAllByRole('listitem')
  const shown = within(card!)
  expect(shown.getByText('Noticed after 2.0 s')).toBeVisible()
  expect(shown.getByText('Signal 9.')).toBeVisible()
  expect(shown.getByText('Recovered after 7.0 s')).toBeVisible()
  expect(shown.getByText(/1,200 records .* 0 missing, 0 duplicates\. The ledger is balanced\./)).toBeVisible()
  expect(shown.getByRole('link', { name: /Where Headgate shows it/ })).toHaveAttribute(
    'href',
    '/pipelines/demo/runs',
  )
  expect(shown.getByRole('button', { name: /Break it again/ })).toBeEnabled()
})

it('breaks by a card, and by no other one while it is under way', async () => {
  let last: DemoFault | null = null
  given.get('/pipelines/demo/guide', () => guide(last))
  given.post('/pipelines/demo/guide', async (request) => {
    expect(await request.json()).toEqual({ card: 'kill-agent' })
    last = fault()
    return last
  })
  showRouted(<GuidePage />)
  await userEvent.click(await screen.findByRole('button', { name: 'Break it: Kill the agent' }))
  const other = screen.getByRole('button', { name: 'Break it: Freeze the sink' })
  await waitFor(() => expect(other).toHaveAccessibleDescription(/A card is under way/))
  expect(screen.getByText('Killed process 7.')).toBeVisible()
})

it('says why a card failed, and why it is refused', async () => {
  given.get('/pipelines/demo/guide', () =>
    guide(fault({ state: 'FAILED', ended_at: '2026-03-01T09:00:11Z', error: 'No run is alive.' })),
  )
  given.post('/pipelines/demo/guide', () => problem(409, 'demo_fault_open', 'Another card is under way.'))
  showRouted(<GuidePage />)
  expect(await screen.findByText('No run is alive.')).toBeVisible()
  await userEvent.click(screen.getByRole('button', { name: 'Break it: Freeze the sink' }))
  expect(await screen.findByText('Another card is under way.')).toBeVisible()
})

it('lets a viewer look', async () => {
  given.get('/session', () => ({ ...session('viewer'), demo_pipeline: 'demo' }))
  given.get('/pipelines/demo/guide', () => guide(null))
  showRouted(<GuidePage />)
  expect(await screen.findByRole('button', { name: 'Break it: Kill the agent' })).toHaveAccessibleDescription(
    /Viewer/,
  )
})

it('does not exist outside of a demo', async () => {
  given.get('/session', () => session('admin'))
  showRouted(<GuidePage />)
  expect(await screen.findByText('There is no guided demo here')).toBeVisible()
})

describe('the first login', () => {
  function Shell() {
    useFirstLogin()
    return null
  }

  it.each([
    ['demo', null, '/guide'],
    ['demo', 'yes', '/'],
    ['', null, '/'],
  ])('of the demo %j, where it was shown: %j, leads to %s', async (demo_pipeline, shown, place) => {
    localStorage.clear()
    if (shown) localStorage.setItem('headgate.guide-shown', shown)
    given.get('/session', () => ({ ...session('admin'), demo_pipeline }))
    const { router, client } = showRouted(<Shell />)
    await waitFor(() => expect(client.getQueryData(['session'])).toBeDefined())
    await waitFor(() => expect(router.history.location.pathname).toBe(place))
  })
})
