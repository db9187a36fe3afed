import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { vi } from 'vitest'
import type { AlertRule, RuleOverride } from '@/api/types'
import { session, T0 } from '@/testing/factories'
import { show } from '@/testing/render'
import { given } from '@/testing/server'
import { RulesPage } from './RulesPage'

const defaults = { enabled: true, for_seconds: 120, records: null, seconds: 900, deviations: null }

const override = (fields: Partial<RuleOverride> = {}): RuleOverride => ({
  ...{ label: 'team:shop', pipeline: '', enabled: null, for_seconds: null, records: 100_000, seconds: null },
  ...{ deviations: null, off: [], updated_by: 'ana', updated_at: T0 },
  ...fields,
})

const lag = (overrides: RuleOverride[]): AlertRule => ({
  ...{
    rule: 'lag',
    description: 'Too many records wait.',
    severity: 'warning',
    next_step: 'Compare the rates.',
  },
  ...{ thresholds: ['records', 'seconds'], about_pipelines: true, defaults, overrides },
})

function open(overrides: RuleOverride[], role: 'viewer' | 'operator' = 'operator') {
  given.get('/session', () => session(role))
  given.get('/alert-rules', () => [lag(overrides)])
  const root = createRootRoute()
  const inbox = createRoute({ getParentRoute: () => root, path: '/alerts' })
  const rules = createRoute({ getParentRoute: () => root, path: '/alerts/rules', component: RulesPage })
  const history = createMemoryHistory({ initialEntries: ['/alerts/rules'] })
  const router = createRouter({ routeTree: root.addChildren([inbox, rules]), history })
  show(<RouterProvider router={router as never} />)
}

const row = async () => (await screen.findByRole('rowheader', { name: 'lag' })).closest('tr')!

describe('alert rules', () => {
  it('say what they watch, their defaults, and what is set where', async () => {
    open([override({ off: ['seconds'] })])
    expect(await row()).toHaveTextContent('Too many records wait.')
    expect(await row()).toHaveTextContent('15 min, for 2 min')
    expect(await row()).toHaveTextContent('label team:shop: 100,000 records, no limit of seconds')
    expect(within(await row()).getByRole('link')).toHaveAttribute(
      'href',
      '/docs/guides/lag-and-alerts/#list-and-acknowledge-alerts',
    )
  })

  it('are set for one pipeline; what is left empty is left to wider settings', async () => {
    const sent = vi.fn()
    given.put('/alert-rules/lag', async (request) => {
      sent(await request.json())
      return override({ label: '', pipeline: 'orders' })
    })
    open([])
    const button = await screen.findByRole('button', { name: 'Set rule: lag' })
    await waitFor(() => expect(button).not.toHaveAttribute('aria-disabled'))
    await userEvent.click(button)
    await userEvent.click(await screen.findByRole('radio', { name: 'One pipeline' }))
    await userEvent.type(screen.getByRole('textbox', { name: 'Pipeline' }), 'orders')
    await userEvent.type(screen.getByRole('textbox', { name: 'Seconds' }), '0')
    await userEvent.click(screen.getByRole('button', { name: 'Set rule' }))
    await waitFor(() => expect(sent).toHaveBeenCalled())
    expect(sent).toHaveBeenCalledWith({ label: '', pipeline: 'orders', enabled: true, seconds: null })
  })

  it('keep a threshold that is switched off when something else of it changes', async () => {
    const sent = vi.fn()
    given.put('/alert-rules/lag', async (request) => {
      sent(await request.json())
      return override()
    })
    open([override({ off: ['seconds'] })])
    await userEvent.click(await screen.findByRole('button', { name: 'Change lag for label team:shop' }))
    await userEvent.type(await screen.findByRole('textbox', { name: 'For seconds' }), '60')
    await userEvent.click(screen.getByRole('button', { name: 'Set rule' }))
    await waitFor(() => expect(sent).toHaveBeenCalled())
    expect(sent).toHaveBeenCalledWith({
      ...{ label: 'team:shop', pipeline: '', records: 100_000, seconds: null, for_seconds: 60 },
    })
  })

  it('are reset for their scope alone', async () => {
    const asked = vi.fn()
    given.delete('/alert-rules/lag', (request) => {
      asked(new URL(request.url).searchParams.get('label'))
      return new Response(null, { status: 204 })
    })
    open([override()])
    await userEvent.click(await screen.findByRole('button', { name: 'Reset lag for label team:shop' }))
    await waitFor(() => expect(asked).toHaveBeenCalledWith('team:shop'))
  })

  it('tell a viewer why nothing can be set', async () => {
    open([override()], 'viewer')
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Set rule: lag' })).toHaveAttribute('aria-disabled', 'true'),
    )
    expect(screen.queryByRole('button', { name: /^Change/ })).toBeNull()
  })
})
