import { createMemoryHistory, createRouter, RouterProvider } from '@tanstack/react-router'
import { screen, waitFor } from '@testing-library/react'
import { http } from 'msw'
import type { AlertRule } from '@/api/types'
import { session, silence, T0, team } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, server } from '@/testing/server'
import { FullWorld } from '@/testing/world'
import { RULES } from '../../mock/installation'
import { router } from './router'

/** An operator of the team `payments` who only reads what `default` owns, such as the pipeline of the world. */
async function open(address: string) {
  const { pipeline } = FullWorld
  const world = new FullWorld()
  server.use(http.all('*/api/v1/*', ({ request }) => world.answer(request)))
  given.get('/session', () => ({ ...session('operator'), everywhere: null, demo_pipeline: pipeline }))
  given.get('/teams', () => ({
    results: [team('default', 'viewer'), team('payments', 'operator')],
    next: null,
  }))
  return async () => {
    const history = createMemoryHistory({ initialEntries: [address] })
    const own = createRouter({ routeTree: router.routeTree, history })
    await own.load()
    show(<RouterProvider router={own as never} />)
  }
}

const READS = /^Your role in the team default is Viewer/
const button = (name: string | RegExp) => screen.getByRole('button', { name })
const draws = (name: string | RegExp) => screen.findByRole('button', { name })

beforeEach(() => void vi.spyOn(window, 'scrollTo').mockImplementation(() => {}))

describe('the role in the team that owns something decides', () => {
  it('who ends a silence', async () => {
    const draw = await open('/alerts')
    const rows = [
      silence({ id: 1, team: 'default' }),
      silence({ id: 2, team: 'payments' }),
      silence({ id: 3 }),
    ]
    given.get('/silences', () => ({ results: rows, next: null }))
    await draw()
    await draws('End silence 1')
    await waitFor(() => expect(button('End silence 1')).toHaveAccessibleDescription(READS))
    expect(button('End silence 2')).not.toHaveAttribute('aria-disabled')
    expect(screen.getByRole('button', { name: 'End silence 3' })).toHaveAccessibleDescription(
      /^The installation owns this/,
    )
  })

  it('who stops monitoring a consumer group', async () => {
    const draw = await open('/groups')
    const group = FullWorld.group
    const rows = [group, { ...group, id: 5, group: 'ours', team: 'default' }]
    given.get('/consumer-groups', () => ({ results: rows, next: null }))
    await draw()
    await draws('Stop monitoring ours')
    await waitFor(() => expect(button('Stop monitoring ours')).toHaveAccessibleDescription(READS))
    expect(button('Stop monitoring billing')).not.toHaveAttribute('aria-disabled')
  })

  it('who changes the setting of a rule', async () => {
    const draw = await open('/alerts/rules')
    const [rule] = RULES as [AlertRule]
    const override = { ...rule.overrides[0]!, updated_at: T0 }
    const settings = [
      { ...override, label: '', pipeline: FullWorld.pipeline },
      { ...override, label: '', pipeline: 'payments-audit-2' },
      { ...override, label: 'team:shop', pipeline: '' },
    ]
    given.get('/alert-rules', () => [{ ...rule, overrides: settings }])
    given.get('/pipelines', () => ({
      results: [
        { name: FullWorld.pipeline, team: 'default' },
        { name: 'payments-audit-2', team: 'payments' },
      ],
      next: null,
    }))
    await draw()
    await screen.findByRole('button', { name: /^Change .* payments-audit-2/ })
    await waitFor(() => expect(screen.getAllByRole('button', { name: /^Change / })).toHaveLength(1))
  })

  it('who breaks the pipeline of the guided demo', async () => {
    const draw = await open('/guide')
    const cards = [{ card: 'kill-agent', title: 'Kill the agent', breaks: '', expect: '', last: null }]
    given.get(`/pipelines/${FullWorld.pipeline}/guide`, () => ({
      pipeline: FullWorld.pipeline,
      open: null,
      cards,
    }))
    await draw()
    await draws(/^Break it/)
    await waitFor(() => expect(button(/^Break it/)).toHaveAccessibleDescription(READS))
  })

  it('who plans a migration of the pipeline whose migrations are listed', async () => {
    const draw = await open(`/migrations?pipeline=${FullWorld.pipeline}`)
    await draw()
    await draws('New migration')
    await waitFor(() => expect(button('New migration')).toHaveAccessibleDescription(READS))
  })
})
