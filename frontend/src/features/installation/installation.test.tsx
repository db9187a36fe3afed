import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import type { HealthCheck, Setting } from '@/api/types'
import { T0 } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { HealthTab } from './HealthTab'
import { SettingsTab } from './SettingsTab'

const check = (fields: Partial<HealthCheck> = {}): HealthCheck => ({
  kind: 'database',
  subject: '',
  state: 'OK',
  detail: 'PostgreSQL 17.2',
  hint: '',
  checked_at: T0,
  milliseconds: 3.2,
  ...fields,
})

const setting = (fields: Partial<Setting> = {}): Setting => ({
  name: 'event_days',
  variable: 'HEADGATE_EVENT_DAYS',
  section: 'Retention',
  description: 'Events.',
  docs: '',
  value: '90',
  default: '90',
  source: 'default',
  secret: false,
  ...fields,
})

function openSettings(at = '/installation/settings') {
  const root = createRootRoute()
  const route = createRoute({
    getParentRoute: () => root,
    path: '/installation/settings',
    component: SettingsTab,
  })
  const history = createMemoryHistory({ initialEntries: [at] })
  const router = createRouter({ routeTree: root.addChildren([route]), history })
  show(<RouterProvider router={router as never} />)
  return router
}

describe('health', () => {
  it('shows each check with its result, and what to do where it failed', async () => {
    const redis = check({
      kind: 'redis',
      state: 'FAILED',
      detail: 'It does not answer.',
      hint: 'Check the server.',
    })
    given.get('/installation', () => ({
      ...{ version: '1.2.3', host: 'web-1', checked_at: T0 },
      checks: [check(), redis, check({ kind: 'disk', subject: 'alpha', state: 'UNKNOWN', checked_at: null })],
    }))
    show(<HealthTab />)
    const row = (await screen.findByRole('rowheader', { name: 'Redis' })).closest('tr')!
    expect(within(row).getByText('Failed')).toBeVisible()
    expect(within(row).getByText('Check the server.')).toBeVisible()
    const disk = screen.getByRole('rowheader', { name: 'Disk alpha' }).closest('tr')!
    expect(within(disk).getByText('Unknown')).toBeVisible()
    expect(within(disk).queryByText('OK')).toBeNull()
    expect(screen.getByText('Headgate 1.2.3, web server on web-1')).toBeVisible()
  })

  it('says what went wrong, and asks again', async () => {
    let asked = 0
    given.get('/installation', () => {
      asked += 1
      if (asked === 1) return problem(503, 'database_unavailable', 'The database does not answer.')
      return { version: '1', host: 'a', checked_at: T0, checks: [check()] }
    })
    show(<HealthTab />)
    await userEvent.click(await screen.findByRole('button', { name: 'Try again' }))
    expect(await screen.findByText('PostgreSQL 17.2')).toBeVisible()
  })
})

describe('settings', () => {
  beforeEach(() => {
    given.get('/installation/settings', () => [
      setting(),
      setting({
        name: 'run_days',
        variable: 'HEADGATE_RUN_DAYS',
        value: '7',
        source: 'environment',
        default: '30',
      }),
      setting({
        ...{ name: 'secret_key', variable: 'HEADGATE_SECRET_KEY', section: 'Secrets' },
        ...{ value: '********', default: null, source: 'environment', secret: true, docs: 'guides/secrets/' },
      }),
    ])
  })

  it('shows values with where they come from, and of secrets only that they are set', async () => {
    openSettings()
    const changed = (await screen.findByRole('rowheader', { name: 'HEADGATE_RUN_DAYS' })).closest('tr')!
    expect(changed).toHaveTextContent('7default: 30Environment')
    const secret = screen.getByRole('rowheader', { name: 'HEADGATE_SECRET_KEY' }).closest('tr')!
    expect(secret).toHaveTextContent('set, not shown')
    expect(secret).not.toHaveTextContent('***')
    expect(within(secret).getByRole('link')).toHaveAttribute('href', '/docs/guides/secrets/')
  })

  it('keeps its filter in the address', async () => {
    const router = openSettings()
    await userEvent.click(await screen.findByRole('switch', { name: 'Set by the environment' }))
    expect(screen.queryByText('HEADGATE_EVENT_DAYS')).toBeNull()
    expect(screen.getByText('HEADGATE_RUN_DAYS')).toBeVisible()
    expect(router.state.location.search).toEqual({ changed: true })
    await userEvent.type(screen.getByRole('textbox', { name: 'Setting' }), 'nothing like this')
    expect(await screen.findByText('No settings match')).toBeVisible()
  })
})
