import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { TestRun } from '@/api/types'
import type { ValidationState } from '@/components/editor/useValidation'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { TestsNote } from './TestsNote'
import { TestsPanel } from './TestsPanel'
import { useTests } from './useTests'

const ID = '0f0e0d0c-0b0a-4090-8080-706050403021'

const run = (fields: Partial<TestRun> = {}): TestRun => ({
  ...{ id: ID, pipeline: 'orders', team: 'default', host: 'alpha', digest: 'd', state: 'DONE', passed: true },
  ...{ requested_by: 'ana', requested_at: '2026-11-22T10:00:00Z', started_at: null, ended_at: null },
  ...{ expires_at: '2026-11-29T10:00:00Z', tests: [{ name: 'arrives', failures: [] }], error: null },
  ...fields,
})

const FAILED = run({
  passed: false,
  tests: [
    { name: 'arrives', failures: [] },
    {
      name: 'is filtered',
      failures: [
        {
          ...{ path: 'tests[1].expect[0]', message: 'Something else becomes of the event.' },
          ...{ expected: 'filtered by a', got: 'delivered to lake', component: 'sources.shop.selector' },
        },
      ],
    },
  ],
})

interface PanelProps {
  tests: number
  sql?: boolean
  onPublish: () => void
}

function Panel({ tests: count, sql = false, onPublish }: PanelProps) {
  const definition = {
    tests: Array.from({ length: count }, () => ({})),
    sources: { shop: { interceptors: sql ? [{ type: 'sql', where: 'a' }] : [] } },
  }
  const tests = useTests('name: orders', { validation: { definition } } as unknown as ValidationState)
  return (
    <>
      <TestsPanel tests={tests} notYet={null} />
      <TestsNote tests={tests} />
      <button type="button" onClick={() => void tests.passed().then((passed) => passed && onPublish())}>
        Publish
      </button>
    </>
  )
}

it('runs tests and shows expected, got and component of what differs', async () => {
  given.post('/test-runs', () => run({ state: 'PENDING', passed: null, tests: [] }))
  given.get(`/test-runs/${ID}`, () => FAILED)
  show(<Panel tests={2} onPublish={vi.fn()} />)
  await userEvent.click(screen.getByRole('button', { name: 'Run tests' }))
  expect(await screen.findByText('2 tests, 1 failed.')).toBeInTheDocument()
  const list = screen.getByRole('list', { name: 'Tests' })
  expect(list).toHaveTextContent(/Passed arrives/)
  expect(list).toHaveTextContent(/Failed is filteredtests\[1\]\.expect\[0\]/)
  expect(list).toHaveTextContent(/Expectedfiltered by aGot by sources\.shop\.selectordelivered to lake/)
})

it('publishes only what has passed, and without tests at once', async () => {
  const publish = vi.fn()
  given.post('/test-runs', () => FAILED)
  const { unmount } = show(<Panel tests={2} onPublish={publish} />)
  await userEvent.click(screen.getByRole('button', { name: 'Publish' }))
  expect(await screen.findByText('2 tests, 1 failed.')).toBeInTheDocument()
  expect(publish).not.toHaveBeenCalled()
  expect(screen.getByRole('alert')).toHaveTextContent('1 of 2 tests failed.')
  given.post('/test-runs', () => run())
  await userEvent.click(screen.getByRole('button', { name: 'Publish' }))
  expect(await screen.findByText('1 test passed.')).toBeInTheDocument()
  expect(publish).toHaveBeenCalledOnce()
  unmount()
  show(<Panel tests={0} onPublish={publish} />)
  expect(screen.getByRole('button', { name: 'Run tests' })).toHaveAccessibleDescription(
    'The definition has no tests.',
  )
  await userEvent.click(screen.getByRole('button', { name: 'Publish' }))
  await vi.waitFor(() => expect(publish).toHaveBeenCalledTimes(2))
})

it('says why tests could not be run', async () => {
  given.post('/test-runs', () => problem(409, 'host_silent', 'No worker runs.'))
  const { unmount } = show(<Panel tests={1} onPublish={vi.fn()} />)
  await userEvent.click(screen.getByRole('button', { name: 'Run tests' }))
  expect(await screen.findByText(/No worker runs/)).toBeInTheDocument()
  unmount()
  const error = { code: 'preview_timed_out', message: 'It did not end.', hint: 'Try again.', findings: [] }
  given.post('/test-runs', () => run({ state: 'FAILED', passed: null, tests: [], error }))
  show(<Panel tests={1} onPublish={vi.fn()} />)
  await userEvent.click(screen.getByRole('button', { name: 'Run tests' }))
  expect(await screen.findByText('It did not end.')).toBeInTheDocument()
})

it('has Spark check SQL without tests, and publishes what it does not refuse', async () => {
  const publish = vi.fn()
  const found = {
    path: 'sources.shop.interceptors[0].where',
    code: 'SQL_SYNTAX',
    message: 'Line 1, column 3: no.',
  }
  const findings = [{ ...found, suggestion: '', severity: 'error' as const, line: null, column: null }]
  const error = { code: 'test_refused', message: found.message, hint: '', findings }
  given.post('/test-runs', () => run({ state: 'FAILED', passed: null, tests: [], error }))
  show(<Panel tests={0} sql onPublish={publish} />)
  expect(screen.getByText(/^Spark checks the SQL before/)).toBeInTheDocument()
  const button = () => screen.getByRole('button', { name: 'Publish' })
  await userEvent.click(button())
  expect(await screen.findByText(/^Spark refuses SQL/)).toBeInTheDocument()
  expect(screen.getByText(found.path)).toBeInTheDocument()
  expect(publish).not.toHaveBeenCalled()
  given.post('/test-runs', () => run({ tests: [] }))
  await userEvent.click(button())
  expect(await screen.findByText('Spark has found nothing wrong with the SQL.')).toBeInTheDocument()
  expect(publish).toHaveBeenCalledOnce()
})

it('publishes SQL that nobody can have checked', async () => {
  const publish = vi.fn()
  given.post('/test-runs', () => problem(409, 'host_silent', 'No worker runs.'))
  show(<Panel tests={0} sql onPublish={publish} />)
  await userEvent.click(screen.getByRole('button', { name: 'Publish' }))
  await vi.waitFor(() => expect(publish).toHaveBeenCalledOnce())
  expect(screen.getByText(/No worker runs/)).toBeInTheDocument()
})
