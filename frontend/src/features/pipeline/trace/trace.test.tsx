import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Trace, TraceResult } from '@/api/types'
import { session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { questionOf, traceCall } from './question'
import { TraceForm } from './TraceTab'

const ID = '0f0e0d0c-0b0a-4090-8080-706050403020'
const PLACE = { topic: 'orders-in', partition: 3, offset: 7 }

const result = (fields: Partial<TraceResult> = {}): TraceResult => ({
  place: PLACE,
  search: null,
  came_from: null,
  onward: [],
  channels: [
    {
      ...{ source: 'shop', channel: 'lake', outcome: 'delivered', evidence: 'sink', component: '' },
      ledger: {
        ...{ source: 'shop', channel: 'lake', offset: 7, position: 100, first: 0, letters: [] },
        rows: [
          {
            ...{ id: 1, run: 4, revision: 2, source: 'shop', channel: 'lake', state: 'done', first_batch: 9 },
            ...{ last_batch: 9, merged: false, counts: {}, sink: 'lake', attempts: 1, operation: null },
            ...{ planned_at: null, done_at: '2026-11-22T10:00:00Z', proves: null },
          },
        ],
      },
      searches: [
        {
          ...{
            row: 1,
            channel: 'lake',
            sink: 'lake',
            is_store: false,
            searched: 12,
            complete: true,
            unknown: null,
          },
          records: [{ topic: 'orders-out', partition: 0, offset: 5, timestamp: 1, copy_number: 0 }],
        },
      ],
    },
  ],
  evaluated: [
    {
      ...{ revision: 2, source: 'shop', timestamp: 1, missing: false, unknown: null },
      read: { key: null, headers: [], bytes: 7, body: '{"n":1}', note: '' },
      events: [
        {
          ...{
            copy_number: 0,
            result: 'delivered',
            verdicts: { lake: 'delivered' },
            component: '',
            cause: '',
          },
          event: null,
          steps: [
            {
              ...{
                component: 'sources.shop.interceptors[0]',
                type: 'static',
                effect: 'changed',
                headers: ['k'],
              },
              ...{ key: false, body: false, cause: '', event: null },
            },
          ],
        },
      ],
    },
  ],
  unknown: [{ about: 'lake', code: 'BATCHES_MERGED', reason: 'The ledger has merged batches.' }],
  seconds: 1,
  ...fields,
})

const trace = (fields: Partial<Trace> = {}): Trace => ({
  ...{ id: ID, pipeline: 'orders', state: 'DONE', requested_by: 'ana', shows_records: true, error: null },
  ...{ requested_at: '2026-11-22T10:00:00Z', started_at: null, ended_at: null },
  expires_at: '2026-11-23T10:00:00Z',
  question: { at: PLACE, from_sink: null, key: null, contains: null, time: null, source: '' },
  result: result(),
  ...fields,
})

const form = (at = '') => showRouted(<TraceForm name="orders" at={at} />)

beforeEach(() => {
  given.get('/session', () => session())
})

it('shows where a record went, by its place', async () => {
  const asked = vi.fn()
  given.post('/pipelines/orders/traces', async (request) => {
    asked(await request.json())
    return trace({ state: 'PENDING', result: null })
  })
  given.get(`/pipelines/orders/traces/${ID}`, () => trace())
  form('orders-in/3:7')
  await userEvent.click(await screen.findByRole('button', { name: 'Trace record' }))
  await waitFor(() => {
    expect(asked).toHaveBeenCalledWith(expect.objectContaining({ at: PLACE, key: null }))
  })
  expect(await screen.findByRole('status')).toHaveTextContent(
    'orders-in/3:7: shop.lake Delivered (found in the sink)',
  )
  const timeline = screen.getByRole('list', { name: 'Timeline' })
  expect(timeline).toHaveTextContent(/Batch 9 of run 4, revision 2, done/)
  expect(timeline).toHaveTextContent(/Evaluated again with revision 2.*Changed.*header k.*static/)
  expect(timeline).toHaveTextContent(/Found at orders-out\/0:5.*12 records searched by origin/)
  expect(screen.getByText(/Not known \(lake\): The ledger has merged/)).toBeInTheDocument()
})

it('shows where a record goes on, and what it was made of', async () => {
  const there = { ...PLACE, offset: 9 }
  const [channel] = result().channels ?? []
  const onward = [
    {
      lead: { kind: 'retry' as const, of: 'l-1', place: there },
      channels: channel ? [channel] : [],
      unknown: [{ about: 'lake', code: 'BATCH_OPEN', reason: 'The batch is not finished.' }],
    },
  ]
  const came_from = { kind: 'channel' as const, of: 'buffer', place: { ...PLACE, offset: 1 } }
  given.post('/pipelines/orders/traces', () => trace({ state: 'PENDING', result: null }))
  given.get(`/pipelines/orders/traces/${ID}`, () => trace({ result: result({ onward, came_from }) }))
  form('orders-in/3:7')
  await userEvent.click(await screen.findByRole('button', { name: 'Trace record' }))
  const timeline = await screen.findByRole('list', { name: 'Timeline of orders-in/3:9' })
  expect(timeline).toHaveTextContent(/Found at orders-out\/0:5/)
  expect(screen.getByText(/by the retry of the dead letter l-1/)).toBeInTheDocument()
  expect(screen.getByText(/Not known \(lake\): The batch is not finished/)).toBeInTheDocument()
  expect(screen.getByRole('button', { name: 'Trace orders-in/3:1' })).toBeInTheDocument()
  expect(screen.getByRole('button', { name: 'Trace orders-in/3:9' })).toBeInTheDocument()
})

it('lists records that match a search, and follows one of them', async () => {
  const asked = vi.fn()
  const search = {
    ...{ source: 'shop', searched: 100, matched: 2, more: false, notes: ['9 offsets were not searched.'] },
    candidates: [
      { place: PLACE, timestamp: 1, size: 7, event: null },
      { place: { ...PLACE, offset: 8 }, timestamp: null, size: 7, event: null },
    ],
  }
  given.post('/pipelines/orders/traces', async (request) => {
    asked(await request.json())
    return trace({ state: 'PENDING', id: asked.mock.calls.length > 1 ? ID : 'search' })
  })
  given.get('/pipelines/orders/traces/search', () =>
    trace({
      id: 'search',
      result: result({ place: null, search, channels: [], evaluated: [], unknown: [] }),
    }),
  )
  given.get(`/pipelines/orders/traces/${ID}`, () => trace())
  form()
  await userEvent.click(await screen.findByText('Key'))
  await userEvent.type(screen.getByLabelText('Key of the record'), 'o-7')
  await userEvent.click(screen.getByRole('button', { name: 'Trace record' }))
  expect(await screen.findByText(/100 offsets of shop searched, 2 match/)).toBeInTheDocument()
  await userEvent.click(screen.getByRole('button', { name: 'Trace orders-in/3:8' }))
  expect(await screen.findByRole('list', { name: 'Timeline' })).toBeInTheDocument()
  expect(asked.mock.calls.map(([body]) => body as object)).toEqual([
    expect.objectContaining({ key: 'o-7', at: null }),
    expect.objectContaining({ key: null, at: { ...PLACE, offset: 8 } }),
  ])
})

it('shows why a trace was refused', async () => {
  given.post('/pipelines/orders/traces', () =>
    problem(403, 'records_not_shown', 'A search by key shows what records hold'),
  )
  form('orders-in/3:7')
  await userEvent.click(await screen.findByRole('button', { name: 'Trace record' }))
  expect(await screen.findByText(/A search by key shows/)).toBeInTheDocument()
})

it('reads questions and says what is wrong with them', () => {
  expect(questionOf('at', ' orders-in/3:7 ')).toEqual({ at: PLACE })
  expect(questionOf('from_sink', 'orders-in/3:7')).toEqual({ from_sink: PLACE })
  expect(questionOf('time', '2026-03-01T09:00:00Z')).toEqual({ time: '2026-03-01T09:00:00.000Z' })
  for (const [by, value] of [
    ['at', ''],
    ['at', 'orders-in:7'],
    ['time', 'soon'],
  ] as const) {
    expect(questionOf(by, value)).toEqual(expect.any(String))
  }
})

it('writes the command', () => {
  expect(traceCall('orders', { at: PLACE }).cli).toContain("trace orders --at 'orders-in/3:7'")
  expect(traceCall('orders', { contains: "it's" }).cli).toContain('--contains')
})
