import definitionSchema from '../../../../definition-schema.json'
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { MigrationDetail } from '@/api/types'
import { keepDraft } from '@/components/editor/draft'
import { detail, migration, session } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { ChangePage } from '../pages/ChangePage'
import { NewMigrationPage } from './NewMigrationPage'

const ID = migration().id
const page = (results: unknown[]) => ({ results, next: null })

beforeEach(() => {
  sessionStorage.clear()
  given.get('/session', () => session('operator'))
  given.get('/pipelines', () => page([]))
  given.get('/pipelines/orders', () => detail())
  given.get('/hosts', () => [])
  given.get('/secrets', () => page([]))
  given.get('/clusters', () => page([]))
  given.get('/definition-schema', () => definitionSchema)
  given.get('/migrations', () => page([]))
  given.post('/pipelines/validate', () => ({ valid: true, findings: [] }))
})

/** The page at its address. */
function open(search: string) {
  const root = createRootRoute()
  const path = '/migrations/new'
  const route = createRoute({ getParentRoute: () => root, path, component: NewMigrationPage })
  const history = createMemoryHistory({ initialEntries: [`${path}${search}`] })
  return show(
    <RouterProvider router={createRouter({ routeTree: root.addChildren([route]), history }) as never} />,
  )
}

const cancelled = (fields: Partial<MigrationDetail>) => {
  const found = migration({ stage: 'ABORTED', open: false, ...fields })
  given.get(`/migrations/${ID}`, () => found)
  return found
}

it('leads from a migration to a form that asks for the same', async () => {
  showRouted(<ChangePage migration={cancelled({ kind: 'host', spec: { host: 'beta' } })} readOnly={null} />)
  expect(await screen.findByRole('link', { name: 'Request another migration' })).toHaveAttribute(
    'href',
    `/migrations/new?pipeline=orders&kind=host&from=${ID}`,
  )
})

it('begins with what an earlier migration asked for', async () => {
  const sent = vi.fn()
  given.post('/migrations', async (request) => {
    sent(await request.json())
    return migration()
  })
  const spec = { to: 'latest', source: null, rules: { window: 5 }, gates: ['PAUSING'] }
  cancelled({ kind: 'position', spec, reason: 'a backlog' })
  const { unmount } = open(`?from=${ID}`)
  await userEvent.type(await screen.findByLabelText('Resume at'), '-')
  unmount()
  open(`?from=${ID}`) // a reload does not take back what was typed
  expect(await screen.findByLabelText('Resume at')).toHaveValue('latest-')
  await userEvent.type(screen.getByLabelText('Resume at'), '{Backspace}')
  expect(screen.getByRole('radio', { name: /^Position/ })).toBeChecked()
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Next: Plan migration' })).not.toHaveAttribute('aria-disabled'),
  )
  await userEvent.click(screen.getByRole('button', { name: 'Next: Plan migration' }))
  await waitFor(() =>
    expect(sent).toHaveBeenCalledWith({
      pipeline: 'orders',
      kind: 'position',
      spec: { to: 'latest', rules: { window: 5 }, gates: ['PAUSING'] },
      reason: 'a backlog',
    }),
  )
})

it('leaves the text of this tab alone, and offers the one that was asked for', async () => {
  keepDraft('orders', 'name: orders # mine')
  cancelled({ spec: { definition: { name: 'orders', version: 2 } } })
  open(`?pipeline=orders&kind=revision&from=${ID}`)
  expect(await screen.findByText('# mine')).toBeInTheDocument()
  await userEvent.click(screen.getByRole('button', { name: 'Use the requested definition' }))
  expect(await screen.findByText('"version"')).toBeInTheDocument()
  expect(screen.queryByText('This is the definition you wrote in this tab.')).not.toBeInTheDocument()
})

it('finds it again after a look at another kind', async () => {
  cancelled({ spec: { definition: { name: 'orders', version: 2 } } })
  open(`?pipeline=orders&kind=revision&from=${ID}`)
  expect(await screen.findByText('"version"')).toBeInTheDocument()
  await userEvent.click(screen.getByRole('radio', { name: /^Agent software/ }))
  expect(await screen.findByLabelText('Reason')).toHaveValue('')
  await userEvent.click(screen.getByRole('radio', { name: /^New revision/ }))
  expect(await screen.findByText('"version"')).toBeInTheDocument()
  expect(screen.getByLabelText('Reason')).toHaveValue('a new topic')
})

it('takes nothing from a migration of another kind, and says where there is none', async () => {
  cancelled({ kind: 'host', spec: { host: 'beta' }, reason: 'new machine' })
  const { unmount } = open(`?pipeline=orders&kind=position&from=${ID}`)
  expect(await screen.findByLabelText('Reason')).toHaveValue('')
  unmount()
  given.get(`/migrations/${ID}`, () => problem(404, 'not_found', 'There is no such migration.'))
  open(`?from=${ID}`)
  expect(await screen.findByText('There is no such migration.')).toBeInTheDocument()
  expect(screen.queryByLabelText('Reason')).not.toBeInTheDocument()
})
