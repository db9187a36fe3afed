import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { detail, finding, migration, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { MigrationForm } from '../MigrationForm'

const shop = { type: 'kafka', bootstrap_servers: 'old:9092', topics: ['orders'], group_id: 'g' }
const pipeline = detail({ definition: { sources: { shop } } })
const button = (words: string) => screen.getByText(words).closest('button')!
const next = () => button('Next: Plan migration')
const faults = vi.fn(() => [] as ReturnType<typeof finding>[])

beforeEach(() => {
  sessionStorage.clear()
  faults.mockReturnValue([])
  given.get('/session', () => session('operator'))
  given.get('/migrations', () => ({ results: [], next: null }))
  given.get('/secrets', () => ({ results: [], next: null }))
  given.post('/pipelines/validate', () => ({ valid: faults().length === 0, findings: faults() }))
})

async function write(label: string, text: string) {
  fireEvent.change(await screen.findByLabelText(label), { target: { value: text } })
}

async function start() {
  showRouted(<MigrationForm pipeline={pipeline} kind="cluster" given={{}} />)
  await userEvent.click(await screen.findByPlaceholderText('Choose a component'))
  await userEvent.click(await screen.findByText('sources.shop'))
  await write('Bootstrap servers', 'new:9092')
  await userEvent.click(button('Add option'))
  await write('Name of option 1', 'sasl.password')
  await write('Value of option 1', '${secret:new}')
  await write('New name of orders', 'old.orders')
}

it('asks for another cluster, field by field', async () => {
  const sent = vi.fn()
  given.post('/migrations', async (request) => {
    sent(await request.json())
    return migration()
  })
  given.get('/pipelines/orders/positions', () => ({
    partitions: [
      { source: 'shop', channel: 'a', topic: 'orders', partition: 0 },
      { source: 'shop', channel: 'b', topic: 'orders', partition: 0 },
      { source: 'other', channel: 'a', topic: 'x', partition: 0 },
    ],
  }))
  await start()
  expect(next()).toHaveAccessibleDescription("Enter the topic of the mirror's offset syncs first.")
  await userEvent.click(screen.getByLabelText('Given offsets, per partition'))
  await userEvent.click(button('Add all partitions'))
  await write('Offset 1', '1200')
  expect(screen.getByLabelText('Topic on the new cluster 1')).toHaveValue('old.orders')
  await write('Reason', 'a new cluster')
  await waitFor(() => expect(next()).not.toHaveAttribute('aria-disabled'))
  await userEvent.click(next())
  await waitFor(() =>
    expect(sent.mock.calls[0]?.[0].spec).toEqual({
      source: 'shop',
      to: { bootstrap_servers: 'new:9092', options: { 'sasl.password': '${secret:new}' } },
      topics: { orders: 'old.orders' },
      positions: { by: 'given', offsets: { 'old.orders': { 0: 1200 } } },
    }),
  )
}, 20_000)

it('shows what the server finds at the field that it means', async () => {
  faults.mockReturnValue([
    finding({ path: 'sources.shop.bootstrap_servers', message: 'No broker.', suggestion: 'host:port' }),
    finding({ path: 'sources.shop.options["sasl.password"]', message: 'A secret.', suggestion: '' }),
    finding({ path: 'sinks.out', message: 'Elsewhere.', suggestion: '' }),
  ])
  await start()
  await write('Offset syncs topic', 'a b')
  await waitFor(() => expect(screen.getByLabelText('Bootstrap servers')).toBeInvalid())
  expect(screen.getByLabelText('Bootstrap servers')).toHaveAccessibleDescription(/No broker. host:port/)
  expect(screen.getByLabelText('Value of option 1')).toHaveAccessibleDescription('A secret.')
  expect(screen.getByText('Elsewhere.')).toBeInTheDocument()
  expect(screen.getAllByText(/A secret/)).toHaveLength(1)
  await waitFor(() => expect(next()).toHaveAccessibleDescription('Fix 3 findings first.'))

  faults.mockReturnValue([])
  const path = 'spec.positions.topic'
  given.post('/migrations', () =>
    problem(422, 'spec_invalid', 'It is not valid.', {
      findings: [finding({ path, message: 'No topic.', suggestion: '' })],
    }),
  )
  await write('Bootstrap servers', 'newer:9092')
  await write('Reason', 'why')
  await waitFor(() => expect(next()).not.toHaveAttribute('aria-disabled'))
  await userEvent.click(next())
  await waitFor(() =>
    expect(screen.getByLabelText('Offset syncs topic')).toHaveAccessibleDescription('No topic.'),
  )
}, 20_000)

it('is there again after a reload, with the component as it is now', async () => {
  await start()
  cleanup()
  const moved = detail({ definition: { sources: { shop: { ...shop, bootstrap_servers: 'older:9092' } } } })
  showRouted(<MigrationForm pipeline={moved} kind="cluster" given={{}} />)
  expect(await screen.findByLabelText('Bootstrap servers')).toHaveValue('new:9092')
  expect(screen.getByLabelText('Value of option 1')).toHaveValue('${secret:new}')
  expect(screen.getByLabelText('New name of orders')).toHaveValue('old.orders')
  expect(screen.getByText('sources.shop is on older:9092 now')).toBeInTheDocument()
}, 20_000)
