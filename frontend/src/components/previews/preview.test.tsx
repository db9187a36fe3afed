import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { session } from '@/testing/factories'
import { difference, preview, PREVIEW_ID as ID } from '@/testing/previews'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { PreviewPanel } from './PreviewPanel'

const panel = (notYet: string | null = null) =>
  show(
    <PreviewPanel
      name="orders"
      candidate={{ definition: 'name: orders', revision: null }}
      sources={['shop']}
      notYet={notYet}
    />,
  )

beforeEach(() => {
  given.get('/session', () => session())
})

it('runs both revisions and shows counts and the events that differ', async () => {
  const asked = vi.fn()
  given.post('/pipelines/orders/previews', async (request) => {
    asked(await request.json())
    return preview({ state: 'PENDING', result: null })
  })
  given.get(`/pipelines/orders/previews/${ID}`, () => preview())
  given.get(`/pipelines/orders/previews/${ID}/differences`, () => ({ results: [difference], next: null }))
  panel()
  expect(screen.getByText('No preview yet')).toBeInTheDocument()
  await userEvent.click(screen.getByRole('button', { name: 'Run preview' }))
  await waitFor(() => {
    expect(asked).toHaveBeenCalledWith({
      ...{ definition: 'name: orders', revision: null, source: 'shop' },
      selection: { last: 1000, since: null, ranges: [], sample: 1 },
    })
  })
  expect(await screen.findByText('2 records of shop were read; 1 event differs.')).toBeInTheDocument()
  expect(screen.getByText('Two offsets have expired.')).toBeInTheDocument()
  expect(screen.getByText(/each run gives another value: header at/)).toBeInTheDocument()
  expect(screen.getByText('channels.lake').closest('tr')).toHaveTextContent(/Delivered.*21$/)
  const found = await screen.findByRole('article', { name: 'orders/1:7' })
  expect(found).toHaveTextContent(/Newly filtered.*changed by sources\.shop\.interceptors\[0\]/)
  expect(found).toHaveTextContent(/Before Delivered \(lake\).*After Filtered/)
  expect(found).toHaveTextContent('{"n":1}')
  expect(screen.queryByText(/^This preview is of what was asked for before/)).toBeNull()
  await userEvent.type(screen.getByRole('textbox', { name: 'Records' }), '0')
  expect(screen.getByText(/^This preview is of what was asked for before/)).toBeInTheDocument()
})

it('says what is missing before, and what failed after', async () => {
  const { unmount } = panel('Nothing has changed yet.')
  expect(screen.getByRole('button', { name: 'Run preview' })).toHaveAccessibleDescription(
    'Nothing has changed yet.',
  )
  unmount()
  given.post('/pipelines/orders/previews', () => preview({ state: 'PENDING', result: null }))
  given.get(`/pipelines/orders/previews/${ID}`, () =>
    preview({
      ...{ state: 'FAILED', result: null },
      error: {
        code: 'preview_timed_out',
        message: 'It did not end.',
        hint: 'Select fewer records.',
        findings: [],
      },
    }),
  )
  panel()
  await userEvent.click(screen.getByRole('button', { name: 'Run preview' }))
  expect(await screen.findByText('It did not end.')).toBeInTheDocument()
  expect(screen.getByText('Select fewer records.')).toBeInTheDocument()
})

it('says so where the host is silent, and where there are no records', async () => {
  given.post('/pipelines/orders/previews', () => problem(409, 'host_silent', 'The supervisor is silent.'))
  const { unmount } = panel()
  await userEvent.click(screen.getByRole('button', { name: 'Run preview' }))
  expect(await screen.findByText(/The supervisor is silent/)).toBeInTheDocument()
  unmount()
  const none = preview()
  given.post('/pipelines/orders/previews', () => preview({ state: 'PENDING', result: null }))
  given.get(`/pipelines/orders/previews/${ID}`, () => ({
    ...none,
    shows_records: false,
    result: { ...none.result, records: 0, differing: 0, counts: [], kinds: {}, components: {} },
  }))
  panel()
  await userEvent.click(screen.getByRole('button', { name: 'Run preview' }))
  expect(await screen.findByText('No records')).toBeInTheDocument()
  expect(screen.getByText(/does not show what events hold/)).toBeInTheDocument()
})
