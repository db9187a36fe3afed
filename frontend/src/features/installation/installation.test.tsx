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
import type { Cluster, ClusterTest, HealthCheck, HostConnection, Setting } from '@/api/types'
import { session, T0 } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { isDraftInvalid, readDraft, writeDraft } from './clusterDraft'
import { ClustersTab } from './ClustersTab'
import { HealthTab } from './HealthTab'
import { InterceptorsTab } from './InterceptorsTab'
import { ReachTab } from './ReachTab'
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

const MODE = { read_only: false, source: null, reason: '', set_by: '', since: null, etag: '"0"' }

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
  beforeEach(() => {
    given.get('/session', () => session())
    given.get('/installation/read-only', () => MODE)
  })

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

describe('clusters', () => {
  const cluster = (fields: Partial<Cluster> = {}): Cluster => ({
    ...{ name: 'analytics', team: null, version: 3, used_by: ['orders'], pending: ['orders'] },
    spec: { master: 'spark://spark:7077', conf: { 'spark.kubernetes.namespace': 'streaming' } },
    ...{ created_at: T0, created_by: 'ana', updated_at: T0, updated_by: 'ben' },
    ...fields,
  })

  function open(role: 'admin' | 'operator', ...clusters: Cluster[]) {
    given.get('/session', () => ({ ...session(role), everywhere: role }))
    given.get('/teams', () => ({ results: [], next: null }))
    given.get('/clusters', () => ({ results: clusters, next: null }))
    showRouted(<ClustersTab />)
  }

  it('say who uses them, and are not deleted while they are used', async () => {
    open('admin', cluster())
    const row = (await screen.findByRole('rowheader', { name: /analytics/ })).closest('tr')!
    expect(row).toHaveTextContent('spark://spark:7077')
    expect(within(row).getByRole('link', { name: 'orders' })).toBeVisible()
    expect(row).toHaveTextContent('runs on an earlier version')
    expect(await within(row).findByRole('button', { name: 'Delete analytics' })).toHaveAttribute(
      'aria-disabled',
    )
  })

  it('are changed without losing what the form holds, and findings stand at their fields', async () => {
    const sent = vi.fn()
    given.put('/clusters/analytics', async (request) => {
      sent(await request.json())
      const finding = {
        path: 'python',
        code: 'x',
        message: 'This is no path.',
        suggestion: '',
        severity: 'error',
      }
      return problem(422, 'cluster_invalid', 'The cluster was not stored.', { findings: [finding] })
    })
    open('admin', cluster())
    await userEvent.click(await screen.findByRole('button', { name: 'Change analytics' }))
    await userEvent.type(await screen.findByLabelText('Python'), 'python3')
    await userEvent.click(screen.getByRole('button', { name: 'Change cluster' }))
    expect(await screen.findByText('This is no path.')).toBeVisible()
    expect(sent).toHaveBeenCalledWith({ spec: { ...cluster().spec, python: 'python3' }, team: null })
  })

  const host = (fields: Partial<HostConnection> = {}): HostConnection => ({
    ...{ host: 'alpha', state: 'NOT_CHECKED', message: 'The connection was not tested lately.', code: '' },
    ...{ hint: '', requested_by: null, requested_at: null, checked_at: null, servers: [], standalone: null },
    unchecked: [],
    ...fields,
  })
  const test = (...hosts: HostConnection[]): ClusterTest => ({
    ...{ cluster: 'analytics', version: 3, hosts },
    checking: hosts.some(({ state }) => state === 'CHECKING'),
  })
  const reached = host({
    ...{ state: 'REACHABLE', message: '', checked_at: T0 },
    servers: [{ server: 'spark:7077', reached: true, milliseconds: 12, detail: '' }],
    standalone: { workers: 2, dead_workers: 1, cores: 8, free_cores: 6, applications: 1 },
    unchecked: ['The Spark version: a start checks it.'],
  })
  const openConnection = async () =>
    userEvent.click(await screen.findByRole('button', { name: 'Connection to analytics' }))

  it('are connected to on request, and are called reachable only by the answer', async () => {
    let now = test(host())
    given.get('/clusters/analytics/test', () => now)
    given.post('/clusters/analytics/test', () => {
      now = test(reached, host({ host: 'beta', state: 'FAILED', message: 'Nobody.', hint: 'Start it.' }))
      return test(host({ state: 'CHECKING', message: '' }))
    })
    open('admin', cluster())
    await openConnection()
    const dialog = within(await screen.findByRole('dialog'))
    expect(await dialog.findByText('Not checked')).toBeVisible()
    expect(dialog.queryByText('Reachable')).toBeNull()
    await userEvent.click(dialog.getByRole('button', { name: 'Test connection' }))
    expect(await dialog.findByText('Checking')).toBeVisible()
    expect(await dialog.findByText('Reachable')).toBeVisible()
    expect(dialog.getByText('connected in 12 ms', { exact: false })).toHaveTextContent('spark:7077')
    expect(
      dialog.getByText('2 live workers, 1 dead, 6 of 8 cores free, 1 application.', { exact: false }),
    ).toBeVisible()
    expect(dialog.getByText('Not checked: The Spark version: a start checks it.')).toBeVisible()
    expect(dialog.getByText('Failed')).toBeVisible()
    expect(dialog.getByText('Start it.')).toBeVisible()
  })

  it('say why a test was refused, and keep what was found before', async () => {
    given.get('/clusters/analytics/test', () => test(reached))
    given.post('/clusters/analytics/test', () =>
      problem(409, 'host_silent', 'No worker runs that could connect to analytics.'),
    )
    open('admin', cluster())
    await openConnection()
    await userEvent.click(await screen.findByRole('button', { name: 'Test connection' }))
    expect(await screen.findByText('No worker runs that could connect to analytics.')).toBeVisible()
    expect(screen.getByText('Reachable')).toBeVisible()
  })

  it.each([
    ['an operator', { everywhere: 'operator' }],
    ['a read-only installation', { read_only: { source: 'database', reason: 'Upgrade' } }],
  ] as const)('are not tested by or in %s, which can see the last test', async (_, fields) => {
    given.get('/session', () => ({ ...session('admin'), everywhere: 'admin', ...fields }))
    given.get('/teams', () => ({ results: [], next: null }))
    given.get('/clusters', () => ({ results: [cluster()], next: null }))
    given.get('/clusters/analytics/test', () => test(reached))
    showRouted(<ClustersTab />)
    await openConnection()
    expect(await screen.findByText('Reachable')).toBeVisible()
    expect(screen.getByRole('button', { name: 'Test connection' })).toHaveAttribute('aria-disabled', 'true')
    expect(screen.queryByRole('button', { name: 'Change analytics' })).toBeNull()
  })

  it('tell operators who defines them', async () => {
    open('operator')
    expect(await screen.findByText('No clusters')).toBeVisible()
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Define cluster' })).toHaveAttribute('aria-disabled', 'true'),
    )
  })

  it('keep every key between the form and the API', () => {
    const spec = {
      ...{ master: 'k8s://https://host:6443', image: 'headgate:1', cluster_secret: '${secret:S}' },
      ...{ conf: { 'spark.a': 'b=c' }, volumes: { state: { type: 'nfs', path: '/mnt' } } },
    }
    expect(writeDraft(readDraft(spec))).toEqual(spec)
    expect(isDraftInvalid({ volumes: '[]' })).toContain('Write an object')
    expect(isDraftInvalid({ volumes: '{' })).toContain('not JSON')
  })
})

describe('reach', () => {
  const rule = {
    id: 4,
    team: null,
    path: '/data',
    mode: 'write',
    note: 'Lake',
    created_at: T0,
    created_by: 'ana',
  }

  beforeEach(() => {
    given.get('/session', () => ({ ...session('admin'), everywhere: 'admin' }))
    given.get('/teams', () => ({ results: [], next: null }))
    given.get('/allowed-roots', () => ({ results: [rule], next: null }))
    given.get('/allowed-networks', () => ({ results: [], next: null }))
    show(<ReachTab />)
  })

  it('lists directories and removes one after a question', async () => {
    const removed = vi.fn()
    given.delete('/allowed-roots/4', () => {
      removed()
      return new Response(null, { status: 204 })
    })
    const row = (await screen.findByRole('rowheader', { name: '/data' })).closest('tr')!
    expect(row).toHaveTextContent('read and writeallLake')
    await waitFor(() =>
      expect(within(row).getByRole('button', { name: 'Remove /data' })).not.toHaveAttribute('aria-disabled'),
    )
    await userEvent.click(within(row).getByRole('button', { name: 'Remove /data' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Remove rule' }))
    await waitFor(() => expect(removed).toHaveBeenCalled())
  })

  it('allows a network, and shows what is wrong with it', async () => {
    const sent = vi.fn()
    given.post('/allowed-networks', async (request) => {
      sent(await request.json())
      const finding = {
        path: 'target',
        code: 'x',
        message: 'This is no host.',
        suggestion: '',
        severity: 'error',
      }
      return problem(422, 'rule_invalid', 'The rule was not stored.', { findings: [finding] })
    })
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Allow network' })).not.toHaveAttribute('aria-disabled'),
    )
    await userEvent.click(screen.getByRole('button', { name: 'Allow network' }))
    const dialog = await screen.findByRole('dialog')
    await userEvent.type(within(dialog).getByLabelText('Network or host'), 'a b')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Allow network' }))
    expect(await within(dialog).findByText('This is no host.')).toBeVisible()
    expect(sent).toHaveBeenCalledWith({ target: 'a b', ports: '*', note: '', team: null })
  })
})

describe('interceptor classes', () => {
  it('say where they come from, who uses them, and which are refused', async () => {
    given.get('/installation/interceptors', () => [
      {
        name: 'acme:Old',
        registered: false,
        listed: false,
        package: null,
        version: null,
        used_by: ['bills'],
      },
      { name: 'acme:New', registered: true, listed: false, package: 'acme', version: '2.1', used_by: [] },
    ])
    showRouted(<InterceptorsTab />)
    const old = (await screen.findByRole('rowheader', { name: 'acme:Old' })).closest('tr')!
    expect(old).toHaveTextContent('Not registered')
    expect(within(old).getByRole('link', { name: 'bills' })).toBeVisible()
    const fresh = screen.getByRole('rowheader', { name: 'acme:New' }).closest('tr')!
    expect(fresh).toHaveTextContent('Registeredacme 2.1no pipeline')
  })
})
