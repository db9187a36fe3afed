import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Host } from '@/api/types'
import { session, T0 } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { Drained, DrainButton } from './Draining'
import { HostDialog } from './HostDialog'
import { RemoveButton } from './Removing'

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
  disk: null,
  isolation: null,
  lease_epoch: 1,
  slots: 4,
  memory_limit: null,
  promised: 2,
  memory_promised: 0,
  drained_at: null,
  drained_by: '',
  on_timeout: 'abort',
  ...fields,
})

/** As soon as the page knows who asks. */
async function press(name: string) {
  await waitFor(() => expect(screen.getByRole('button', { name })).not.toHaveAttribute('aria-disabled'))
  await userEvent.click(screen.getByRole('button', { name }))
}

it('empties a host after a question, and takes it back without one', async () => {
  const asked = vi.fn()
  given.get('/session', () => session())
  given.post('/hosts/alpha/:what', async (request) => {
    asked(new URL(request.url).pathname, await request.json())
    return {}
  })
  const { unmount } = show(<DrainButton host={host()} />)
  await press('Drain alpha')
  expect(await screen.findByRole('dialog', { name: 'Drain alpha?' })).toBeInTheDocument()
  expect(asked).not.toHaveBeenCalled()
  await userEvent.click(screen.getByRole('radio', { name: /then stop/ }))
  await userEvent.click(screen.getByRole('button', { name: 'Drain host' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  unmount()
  show(<DrainButton host={host({ drained_at: T0, drained_by: 'ana' })} />)
  await press('Undrain alpha')
  await waitFor(() =>
    expect(asked.mock.calls).toEqual([
      ['/api/v1/hosts/alpha/drain', { on_timeout: 'stop' }],
      ['/api/v1/hosts/alpha/undrain', {}],
    ]),
  )
})

it('says which host takes no new agents', () => {
  show(<Drained host={host({ drained_at: T0, drained_by: 'ana' })} />)
  expect(screen.getByText('Drained')).toBeInTheDocument()
})

it('is drained by administrators alone', async () => {
  given.get('/session', () => session('operator'))
  show(<DrainButton host={host()} />)
  const button = await screen.findByRole('button', { name: 'Drain alpha' })
  expect(button).toHaveAccessibleDescription('Only administrators of all teams can do this.')
})

it('expects a silent host no longer, after a question', async () => {
  const removed = vi.fn()
  given.get('/session', () => session())
  given.delete('/hosts/alpha', () => {
    removed()
    return problem(409, 'host_in_use', 'Assigned to alpha: orders.')
  })
  const silent = { state: 'LOST', promised: 0 } as const
  show(<RemoveButton host={host(silent)} />)
  await press('Remove host alpha')
  expect(await screen.findByRole('dialog', { name: 'Remove alpha?' })).toHaveTextContent(
    'adds the host again',
  )
  expect(removed).not.toHaveBeenCalled()
  await userEvent.click(screen.getByRole('button', { name: 'Remove host' }))
  expect(await screen.findByText('Assigned to alpha: orders.')).toBeInTheDocument()
})

it.each([
  [{ state: 'UP' as const, promised: 0 }, /^alpha is still reporting.*Stop its worker first/],
  [{ state: 'LOST' as const, promised: 1 }, /^1 pipeline is placed on this host. Drain it/],
])('says why a host is expected still: %j', async (fields, words) => {
  given.get('/session', () => session())
  show(<RemoveButton host={host(fields)} />)
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Remove host alpha' })).toHaveAccessibleDescription(words),
  )
})

it('says in the dialog of a host what others could use against its broker', async () => {
  const messages = { state: 'HEALTHY', detail: '', since: T0, at: T0, round_trip_ms: 1 } as const
  given.get('/hosts/alpha', () => ({
    ...host({ messages: { ...messages, warnings: ['Redis asks for no password.'] } }),
    pipelines: [],
  }))
  showRouted(<HostDialog name="alpha" onClose={() => {}} />)
  expect(await screen.findByText('Redis asks for no password.')).toBeInTheDocument()
  expect(screen.getByText('Broker at risk')).toBeInTheDocument()
})

it.each([
  [
    'NONE' as const,
    "Agents share the worker's user. CAP_SETUID missing.",
    'Run the worker as root.',
    'Agents have no users of their own',
  ],
  ['USER' as const, 'Out of 60579-61183.', '', 'Agents run as users of their own'],
])(
  'says in the dialog of a host whether agents have users of their own: %s',
  async (state, detail, hint, badge) => {
    given.get('/hosts/alpha', () => ({ ...host({ isolation: { state, detail, hint } }), pipelines: [] }))
    showRouted(<HostDialog name="alpha" onClose={() => {}} />)
    expect(await screen.findByText(badge)).toBeInTheDocument()
    expect(screen.getByText(`${detail} ${hint}`.trim())).toBeInTheDocument()
  },
)

it('says what ties each pipeline to a host, and leads to the revision that pins it or lets it go', async () => {
  const guest = { phase: 'RUNNING', desired_state: 'RUNNING', live_run: 4 } as const
  given.get('/hosts/alpha', () => ({
    ...host(),
    pipelines: [
      { ...guest, name: 'orders', tied: ['placement.host is alpha'] },
      { ...guest, name: 'clicks', live_run: null, tied: [] },
    ],
  }))
  showRouted(<HostDialog name="alpha" onClose={() => {}} />)
  expect(await screen.findByRole('row', { name: /orders/ })).toHaveTextContent('placement.host is alpha')
  expect(screen.getByRole('row', { name: /clicks/ })).toHaveTextContent('it can move')
  expect(screen.getByRole('link', { name: 'Unpin orders' })).toHaveAttribute(
    'href',
    '/pipelines/orders/edit?host=any',
  )
  expect(screen.getByRole('link', { name: 'Pin clicks to alpha' })).toHaveAttribute(
    'href',
    '/pipelines/clicks/edit?host=alpha',
  )
})
