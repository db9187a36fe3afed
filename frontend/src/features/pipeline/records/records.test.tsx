import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Peek, PeekResult, PeekedRecord } from '@/api/types'
import { session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { firstView, hexOf, lineOf, type ShownEvent } from './body'
import { PeekForm } from './PeekForm'
import { peekCall, questionOf } from './question'
import { subjectsOf } from './subjects'

const ID = '0f0e0d0c-0b0a-4090-8080-706050403020'
const DEFINITION = {
  sources: { shop: { type: 'kafka', topics: ['orders-in'] }, files: { type: 'taildir' } },
  sinks: { lake: { type: 'kafka', topic: 'orders-out', allowed_topics: ['orders-cz'] } },
  errors: { dead_letter: { type: 'kafka', topic: 'orders-dead' } },
}

const event = (fields: Partial<ShownEvent> = {}): ShownEvent => ({
  ...{ key: 'o-7', headers: [['source', 'web']], bytes: 7, body: '{"n":1}', note: '' },
  ...fields,
})

const record = (fields: Partial<PeekedRecord> = {}): PeekedRecord => ({
  ...{ topic: 'orders-in', partition: 3, offset: 7, timestamp: 1_700_000_000_000, by_broker: false },
  ...{ tombstone: false, event: { ...event() }, origin: null, outcome: '', component: '', cause: '' },
  ...fields,
})

const result = (fields: Partial<PeekResult> = {}): PeekResult => ({
  ...{ topic: 'orders-in', records: [record()], searched: 1, more: true, compacted: false },
  partitions: [
    {
      ...{
        topic: 'orders-in',
        partition: 3,
        start: 0,
        end: 9,
        open: 2,
        since: 7,
        until: 9,
        shown: 1,
        missing: 1,
      },
      holes: [{ start: 8, end: 9, kind: 'markers' }],
    },
  ],
  ...{ notes: [], seconds: 0.1 },
  ...fields,
})

const peek = (fields: Partial<Peek> = {}): Peek => ({
  ...{ id: ID, pipeline: 'orders', state: 'DONE', requested_by: 'ana', error: null, result: result() },
  ...{ requested_at: '2026-11-22T10:00:00Z', started_at: null, ended_at: null },
  ...{ expires_at: '2026-11-22T11:00:00Z' },
  question: {
    ...{ of: 'sources.shop', topic: '', partition: null, offset: null, time: null, key: null },
    ...{ contains: null, limit: 20 },
  },
  ...fields,
})

const form = () => {
  given.get('/session', () => session())
  showRouted(<PeekForm name="orders" subjects={subjectsOf(DEFINITION)} />)
}

const ask = async () => userEvent.click(await screen.findByRole('button', { name: 'Show records' }))

it('shows records, why an offset has none, and one record with its views', async () => {
  const asked = vi.fn()
  given.post('/pipelines/orders/peeks', async (request) => {
    asked(await request.json())
    return peek({ state: 'PENDING', result: null })
  })
  given.get(`/pipelines/orders/peeks/${ID}`, () => peek())
  form()
  await ask()
  await waitFor(() => {
    expect(asked).toHaveBeenCalledWith(
      expect.objectContaining({ of: 'sources.shop', limit: 20, offset: null }),
    )
  })
  expect(await screen.findByRole('status')).toHaveTextContent(
    '1 record shown, 1 read of orders-in. There are more.',
  )
  const holes = screen.getByRole('region', { name: 'Offsets without a record' })
  expect(holes).toHaveTextContent('orders-in/3: 8. Markers of transactions. They are no records.')
  expect(holes).toHaveTextContent('2 offsets from 9 on belong to open transactions')
  await userEvent.click(screen.getByRole('button', { name: 'orders-in/3:7' }))
  const drawer = await screen.findByRole('dialog', { name: 'orders-in/3:7' })
  expect(within(drawer).getByText(/"n": 1/)).toBeVisible()
  await userEvent.click(within(drawer).getByText('Hex'))
  expect(within(drawer).getByText(/7b 22 6e 22 3a 31 7d/)).toBeVisible()
  expect(within(drawer).getByRole('link', { name: 'Trace orders-in/3:7' })).toHaveAttribute(
    'href',
    expect.stringContaining('/pipelines/orders/trace?at='),
  )
})

it('names the batch of a record of a sink, and traces what it was made of', async () => {
  const origin = {
    ...{ pipeline: 'orders', source: 'shop', channel: 'main', copy_number: 0, run: 4 },
    ...{ first_batch: 9, last_batch: 9, delivered_at: '2026-11-22T10:00:00Z' },
    place: { topic: 'orders-in', partition: 0, offset: 41 },
  }
  given.post('/pipelines/orders/peeks', () => peek({ state: 'PENDING', result: null }))
  given.get(`/pipelines/orders/peeks/${ID}`, () =>
    peek({ result: result({ records: [record({ origin })] }) }),
  )
  form()
  await ask()
  await userEvent.click(await screen.findByRole('button', { name: 'orders-in/3:7' }))
  expect(await screen.findByText(/run 4, batch 9, delivered/)).toBeVisible()
  expect(screen.getByRole('link', { name: 'Trace orders-in/0:41' })).toBeVisible()
})

it('goes to newer records of a partition', async () => {
  const asked = vi.fn()
  given.post('/pipelines/orders/peeks', async (request) => {
    asked(await request.json())
    return peek({ state: 'PENDING', result: null })
  })
  const [part] = result().partitions
  given.get(`/pipelines/orders/peeks/${ID}`, () =>
    peek({ result: result({ partitions: [{ ...part!, until: 8 }] }) }),
  )
  form()
  await ask()
  await userEvent.click(await screen.findByRole('button', { name: 'Newer' }))
  await waitFor(() =>
    expect(asked).toHaveBeenLastCalledWith(expect.objectContaining({ partition: 3, offset: 8 })),
  )
})

it('says why records cannot be shown, and cancels', async () => {
  const cancelled = vi.fn()
  given.post('/pipelines/orders/peeks', () => peek({ state: 'PENDING', result: null }))
  const error = {
    code: 'peek_refused',
    message: 'The brokers b:9092 cannot be reached.',
    hint: 'Check it.',
    findings: [],
  }
  given.get(`/pipelines/orders/peeks/${ID}`, () =>
    cancelled.mock.calls.length > 0
      ? peek({ state: 'FAILED', result: null, error })
      : peek({ state: 'RUNNING', result: null }),
  )
  given.delete(`/pipelines/orders/peeks/${ID}`, () => {
    cancelled()
    return new Response(null, { status: 204 })
  })
  form()
  await ask()
  await userEvent.click(await screen.findByRole('button', { name: 'Cancel' }))
  expect(await screen.findByRole('alert')).toHaveTextContent(/cannot be reached.*Check it/)
})

it('says that a role may not see records', async () => {
  given.post('/pipelines/orders/peeks', () =>
    problem(403, 'records_not_shown', 'A peek shows what records hold'),
  )
  form()
  await ask()
  expect(await screen.findByText(/A peek shows what records hold/)).toBeInTheDocument()
})

it('says that nothing matches, and that a topic is empty', async () => {
  const none = result({ records: [], searched: 0, more: false, partitions: [] })
  given.post('/pipelines/orders/peeks', () => peek({ state: 'PENDING', result: null }))
  given.get(`/pipelines/orders/peeks/${ID}`, () => peek({ result: none }))
  form()
  await ask()
  expect(await screen.findByText('The topic is empty')).toBeInTheDocument()
})

it('knows what of a definition has records', () => {
  expect(subjectsOf(DEFINITION).map(({ of, topics }) => [of, topics])).toEqual([
    ['sources.shop', ['orders-in']],
    ['sinks.lake', ['orders-out', 'orders-cz']],
    ['errors.dead_letter', ['orders-dead']],
  ])
})

it('reads questions, says what is wrong with them, and writes the command', () => {
  const typed = {
    ...{ of: 'sinks.lake', topic: '', partition: '3', from: 'offset' as const, start: '7' },
    ...{ key: '', contains: "it's", limit: '5' },
  }
  const question = { of: 'sinks.lake', partition: 3, offset: 7, contains: "it's", limit: 5 }
  expect(questionOf(typed)).toEqual(question)
  for (const wrong of [
    { partition: 'x' },
    { start: '' },
    { limit: '201' },
    { from: 'time' as const, start: 'soon' },
  ])
    expect(questionOf({ ...typed, ...wrong })).toEqual(expect.any(String))
  expect(peekCall('orders', question).cli).toContain("peek orders --sink lake --partition '3' --offset '7'")
  expect(peekCall('orders', { of: 'sources.shop.selector' }).cli).toContain(
    "--component 'sources.shop.selector'",
  )
})

it('shows bytes, text and JSON as they are', () => {
  const binary = event({ body: undefined, body_base64: 'AP/+' })
  expect([firstView(binary), firstView(event()), firstView(event({ body: 'a' }))]).toEqual([
    'hex',
    'json',
    'text',
  ])
  expect(hexOf(binary)).toMatch(/^000000 {2}00 ff fe +\.\.\.$/)
  expect(lineOf(event(), true)).toBe('No value (tombstone)')
  expect(lineOf(event({ note: 'withheld', body: null }), false)).toMatch(/masked fields/)
})
