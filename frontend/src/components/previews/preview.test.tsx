import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Difference, Preview } from '@/api/types'
import { session } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { PreviewPanel } from './PreviewPanel'

const ID = '0f0e0d0c-0b0a-4090-8080-706050403020'

const preview = (fields: Partial<Preview> = {}): Preview => ({
  ...{ id: ID, pipeline: 'orders', base: 3, digest: 'd', source: 'shop', state: 'DONE', requested_by: 'ana' },
  ...{ requested_at: '2026-11-22T10:00:00Z', started_at: null, ended_at: null },
  ...{ expires_at: '2026-11-23T10:00:00Z', shows_records: true, error: null },
  selection: { last: 1000, since: null, ranges: [], sample: 1 },
  result: {
    ...{
      source: 'shop',
      records: 2,
      size: 20,
      ranges: [],
      notes: ['Two offsets have expired.'],
      differing: 1,
    },
    counts: [
      { result: 'delivered', component: 'channels.lake', before: 2, after: 1 },
      { result: 'filtered', component: 'sources.shop.interceptors[0]', before: 0, after: 1 },
    ],
    kinds: { newly_filtered: 1 },
    components: { 'sources.shop.interceptors[0]': 1 },
    before: null,
    after: null,
    not_compared: { headers: ['at'], key: false, body: false },
  },
  ...fields,
})

const difference: Difference = {
  ...{ number: 0, topic: 'orders', partition: 1, offset: 7, copy_number: 0, headers: [] },
  kinds: ['newly_filtered'],
  components: ['sources.shop.interceptors[0]'],
  body: [{ name: '/n', before: '1', after: null }],
  record: { key: 'k', headers: [['h', 'v']], bytes: 9, body: '{"n":1}', note: '' },
  before: {
    ...{ result: 'delivered', channels: ['lake'], component: '', cause: '' },
    event: { key: 'k', headers: [['h', 'v']], bytes: 9, body: '{"n":1}', note: '' },
  },
  after: {
    ...{ result: 'filtered', channels: [], component: 'sources.shop.interceptors[0]', cause: '' },
    event: null,
  },
}

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
