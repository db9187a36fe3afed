import definitionSchema from '../../../../definition-schema.json'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { detail, migration, pipeline, session, team } from '@/testing/factories'
import { difference, preview, PREVIEW_ID } from '@/testing/previews'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { keepDraft, readDraft } from '@/components/editor/draft'
import { MigrationForm } from './MigrationForm'

const page = (results: unknown[]) => ({ results, next: null })

beforeEach(() => {
  sessionStorage.clear()
  given.get('/session', () => session('operator'))
  given.get('/migrations', () => page([]))
  given.get('/hosts', () => [])
  given.get('/secrets', () => page([]))
  given.get('/clusters', () => page([]))
  given.get('/definition-schema', () => definitionSchema)
})

async function plan() {
  const button = () => screen.getByRole('button', { name: 'Next: Plan migration' })
  await waitFor(() => expect(button()).not.toHaveAttribute('aria-disabled'))
  await userEvent.click(button())
}

it('asks for another position, with a reason', async () => {
  const sent = vi.fn()
  given.post('/migrations', async (request) => {
    sent(await request.json())
    return migration()
  })
  showRouted(<MigrationForm pipeline={detail()} kind="position" given={{}} />)
  const button = await screen.findByRole('button', { name: 'Next: Plan migration' })
  expect(button).toHaveAccessibleDescription('Enter a start position first.')
  expect(screen.getByLabelText('Resume at')).toHaveAccessibleDescription(/ledger, checkpoint, group/)
  await userEvent.type(screen.getByLabelText('Resume at'), 'latest')
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Next: Plan migration' })).toHaveAccessibleDescription(
      /^Enter a reason first/,
    ),
  )
  await userEvent.type(screen.getByLabelText('Reason'), 'a backlog nobody wants')
  await plan()
  await waitFor(() =>
    expect(sent).toHaveBeenCalledWith({
      pipeline: 'orders',
      kind: 'position',
      spec: { to: 'latest' },
      reason: 'a backlog nobody wants',
    }),
  )
})

it('says who holds the pipeline, and leads there', async () => {
  given.get('/migrations', () => page([migration({ created_by: 'ben' })]))
  showRouted(<MigrationForm pipeline={detail()} kind="software" given={{}} />)
  expect(await screen.findByRole('link', { name: 'Open that migration' })).toHaveAttribute(
    'href',
    `/migrations/${migration().id}`,
  )
  expect(screen.getByRole('button', { name: 'Next: Plan migration' })).toHaveAccessibleDescription(
    /^The migration of orders by ben is open/,
  )
})

it('is not for a viewer of the team, whatever the role elsewhere', async () => {
  given.get('/session', () => ({ ...session('operator'), everywhere: null }))
  given.get('/teams', () => page([team('default', 'viewer'), team('cobalt', 'operator')]))
  given.get('/pipelines', () => page([pipeline()]))
  showRouted(<MigrationForm pipeline={detail()} kind="software" given={{}} />)
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Next: Plan migration' })).toHaveAccessibleDescription(
      /^Your role in the team default is Viewer/,
    ),
  )
})

it('shows every finding of a spec that is refused', async () => {
  const findings = ['spec.to', 'spec.rules'].map((path) => ({
    ...{ path, code: 'bad', message: `${path} is wrong.`, suggestion: '', severity: 'error' },
    ...{ line: null, column: null },
  }))
  given.post('/migrations', () => problem(422, 'spec_invalid', 'The spec is not valid.', { findings }))
  showRouted(<MigrationForm pipeline={detail()} kind="position" given={{ to: 'x' }} />)
  await userEvent.type(await screen.findByLabelText('Reason'), 'why')
  await plan()
  expect(await screen.findByText('The spec is not valid.')).toBeInTheDocument()
  expect(screen.getByText('spec.to is wrong.')).toBeInTheDocument()
  expect(screen.getByText('spec.rules is wrong.')).toBeInTheDocument()
})

it('has the position picked in the table as what is written, and counts it', async () => {
  const place = { source: 'shop', channel: 'main', topic: 'orders', verdict: 'AGREES', codes: [] }
  const known = { ledger: 50, checkpoint: 50, group: null, log_start: 0, log_end: 90 }
  const partitions = [0, 1].map((partition) => ({ ...place, ...known, partition }))
  given.get('/pipelines/orders/positions', () => ({
    ...{ pipeline: 'orders', taken_at: null, fresh: true, error: null },
    ...{ findings: [], choices: [], partitions },
  }))
  const asked = vi.fn()
  given.post('/pipelines/orders/positions/plan', async (request) => {
    asked(await request.json())
    return { state: 'ANSWERED', skip: 40, replay: 0, gone: 0, possible_duplicates: 0, partitions: [] }
  })
  showRouted(<MigrationForm pipeline={detail()} kind="position" given={{}} />)
  await userEvent.selectOptions(await screen.findByLabelText('New position of orders/1'), 'Log end')
  expect(screen.getByLabelText('Resume at')).toHaveValue('offsets=orders/1:latest')
  expect(await screen.findByLabelText('Expected impact')).toHaveTextContent('Skipped40')
  expect(asked).toHaveBeenLastCalledWith({ to: 'offsets=orders/1:latest', source: null })
})

it('begins with what a link has filled in', async () => {
  given.get('/hosts', () => [])
  showRouted(<MigrationForm pipeline={detail()} kind="position" given={{ to: 'earliest' }} />)
  expect(await screen.findByLabelText('Resume at')).toHaveValue('earliest')
})

describe('what was written', () => {
  const form = (kind: 'position' | 'host' | 'software', link = {}) =>
    showRouted(<MigrationForm pipeline={detail()} kind={kind} given={link} />)

  it('is there again after a reload, and after a look at another kind', async () => {
    const { unmount } = form('position')
    await userEvent.type(await screen.findByLabelText('Resume at'), 'latest')
    await userEvent.type(screen.getByLabelText('Reason'), 'a backlog')
    await userEvent.click(screen.getByRole('button', { name: /^Verification rules/ }))
    await userEvent.click(screen.getByRole('checkbox', { name: 'Before the commit' }))
    unmount()
    const other = form('software')
    expect(await screen.findByLabelText('Reason')).toHaveValue('')
    other.unmount()
    form('position')
    expect(await screen.findByLabelText('Resume at')).toHaveValue('latest')
    expect(screen.getByLabelText('Reason')).toHaveValue('a backlog')
    await userEvent.click(screen.getByRole('button', { name: /^Verification rules/ }))
    expect(screen.getByRole('checkbox', { name: 'Before the commit' })).toBeChecked()
  })

  it('outlives a reload of the link that it began with, and gives way to another', async () => {
    const { unmount } = form('position', { to: 'earliest' })
    const field = await screen.findByLabelText('Resume at')
    await userEvent.clear(field)
    await userEvent.type(field, 'ledger')
    unmount()
    const again = form('position', { to: 'earliest' })
    expect(await screen.findByLabelText('Resume at')).toHaveValue('ledger')
    again.unmount()
    form('position', { to: 'latest' })
    expect(await screen.findByLabelText('Resume at')).toHaveValue('latest')
  })

  it('is gone once the migration is there', async () => {
    given.post('/migrations', () => migration())
    const { unmount, router } = form('position', { to: 'latest' })
    await userEvent.type(await screen.findByLabelText('Reason'), 'a backlog')
    await plan()
    await waitFor(() => expect(router.state.location.pathname).toBe(`/migrations/${migration().id}/plan`))
    unmount()
    form('position')
    expect(await screen.findByLabelText('Resume at')).toHaveValue('')
    expect(screen.getByLabelText('Reason')).toHaveValue('')
  })
})

describe('the tests of a definition', () => {
  const RUN = { id: 'r', state: 'DONE', error: null }
  const FAILURE = {
    path: 'tests[0].expect[0]',
    message: 'Something else.',
    expected: 'a',
    got: 'b',
    component: '',
  }

  const revision = () => {
    given.post('/pipelines/validate', () => ({
      ...{ valid: true, findings: [], digest: 'd', guarantees: [] },
      definition: { name: 'orders', tests: [{ name: 'arrives' }] },
    }))
    keepDraft('orders', 'name: orders # changed')
    showRouted(<MigrationForm pipeline={detail()} kind="revision" given={{}} />)
  }

  it('run before the plan is made, which waits until they pass', async () => {
    const sent = vi.fn()
    given.post('/migrations', () => (sent(), migration()))
    given.post('/test-runs', () => ({
      ...RUN,
      passed: false,
      tests: [{ name: 'arrives', failures: [FAILURE] }],
    }))
    revision()
    await userEvent.type(await screen.findByLabelText('Reason'), 'why')
    await plan()
    expect(await screen.findByText(/^1 of 1 test failed/)).toBeInTheDocument()
    expect(screen.getByText('tests[0].expect[0]')).toBeInTheDocument()
    expect(sent).not.toHaveBeenCalled()
    given.post('/test-runs', () => ({ ...RUN, passed: true, tests: [{ name: 'arrives', failures: [] }] }))
    await plan()
    await waitFor(() => expect(sent).toHaveBeenCalledOnce())
  })

  it('take a record of the preview', async () => {
    const address = `/pipelines/orders/previews/${PREVIEW_ID}`
    given.post('/pipelines/orders/previews', () => preview())
    given.get(address, () => preview())
    given.get(`${address}/differences`, () => ({ results: [difference], next: null }))
    revision()
    const button = () => screen.getByRole('button', { name: 'Run preview' })
    await waitFor(() => expect(button()).not.toHaveAttribute('aria-disabled'))
    await userEvent.click(button())
    await userEvent.click(await screen.findByRole('button', { name: 'Save as test' }))
    expect(await screen.findByText(/^A test was added to the definition/)).toBeInTheDocument()
    expect(readDraft('orders')).toContain('- name: "record orders/1:7"')
  })
})
