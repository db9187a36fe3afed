import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Positions, RangePlan, RangeReplay } from '@/api/types'
import { operation } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { RangeDialog } from './RangeDialog'
import { ReplaysPanel } from './ReplaysPanel'

const place = { source: 'shop', channel: 'main', topic: 'orders-in', partition: 0 }
const partition: Positions['partitions'][number] = {
  ...place,
  ledger: 1_000,
  checkpoint: 1_000,
  group: 1_000,
  log_start: 0,
  log_end: 1_200,
  verdict: 'AGREES',
  codes: [],
}
const range = { ...place, start: 100, end: 1_350 }
const plan: RangePlan = {
  ...range,
  read_up_to: 48_000,
  offsets: 1_250,
  batches: 3,
  hash: 'abc123',
  sinks: [
    {
      ...place,
      pipeline: 'orders',
      sink: 'out',
      type: 'kafka',
      duplicates_max: 1_250,
      effect: 'Readers see them twice.',
    },
  ],
}

async function planned() {
  show(<RangeDialog name="orders" partitions={[partition]} onClose={onClose} />)
  await userEvent.type(await screen.findByLabelText('From offset'), '100')
  await userEvent.type(screen.getByLabelText('To offset'), '1,350')
  await userEvent.click(screen.getByRole('button', { name: 'Plan replay' }))
  await screen.findByText(/At most 1,250 records/)
}

const onClose = vi.fn()

describe('a replay of a range', () => {
  beforeEach(() => {
    onClose.mockReset()
    given.post('/pipelines/orders/range-replays/plan', () => plan)
  })

  it('is planned with counts and asked for by the hash of that plan', async () => {
    const asked = vi.fn()
    given.post('/pipelines/orders/range-replays', async (request) => {
      asked(await request.json())
      return operation({ kind: 'replay_range' })
    })
    await planned()
    expect(screen.getByText(/in 3 batches\. shop continues at 48,000/)).toBeInTheDocument()
    expect(screen.getByRole('row', { name: /out/ })).toHaveTextContent('Readers see them twice.')
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Replay range' }))
    await waitFor(() => expect(onClose).toHaveBeenCalled())
    expect(asked.mock.calls).toEqual([[{ ...range, hash: 'abc123', reason: '' }]])
  })

  it('cannot be asked for by a plan of another range', async () => {
    await planned()
    await userEvent.type(screen.getByLabelText('To offset'), '0')
    expect(screen.queryByText(/At most 1,250 records/)).toBeNull()
    expect(screen.queryByRole('button', { name: 'Replay range' })).toBeNull()
  })

  it('that is refused says why and stays open', async () => {
    given.post('/pipelines/orders/range-replays', () =>
      problem(409, 'replay_under_way', 'Another range is being replayed.'),
    )
    await planned()
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Replay range' }))
    expect(await screen.findByText('Another range is being replayed.')).toBeInTheDocument()
    expect(onClose).not.toHaveBeenCalled()
  })

  it('needs two offsets, the second one larger', async () => {
    show(<RangeDialog name="orders" partitions={[partition]} onClose={() => {}} />)
    await userEvent.type(await screen.findByLabelText('From offset'), '9')
    await userEvent.type(screen.getByLabelText('To offset'), '9')
    expect(screen.getByRole('button', { name: 'Plan replay' })).toHaveAccessibleDescription(
      /second one larger/,
    )
  })
})

describe('the replays that were asked for', () => {
  const replay = (fields: Partial<RangeReplay>): RangeReplay => ({
    ...operation({ kind: 'replay_range' }),
    ...range,
    ...fields,
  })

  it('show how far they are, and the one under way is cancelled', async () => {
    const cancelled = vi.fn()
    const progress = { done: 500, of: 1_250, delivered: 480, possible_duplicates: 20 }
    given.get('/pipelines/orders/range-replays', () => ({
      results: [replay({ state: 'RUNNING', progress }), replay({ id: 'op-0', state: 'FAILED', start: 0 })],
      next: null,
    }))
    given.delete('/operations/op-1', () => {
      cancelled()
      return operation({ state: 'CANCELLED' })
    })
    show(<ReplaysPanel name="orders" partitions={[partition]} readOnly={null} resting={null} />)
    const row = await screen.findByRole('row', { name: /from 100 up to 1,350/ })
    expect(row).toHaveTextContent('500 of 1,250 offsets, 20 possible duplicates')
    expect(screen.getByRole('row', { name: /from 0 up to/ })).toHaveTextContent('Failed')
    const [button, ...others] = screen.getAllByRole('button', { name: /^Cancel the replay/ })
    expect(others).toEqual([])
    await userEvent.click(button!)
    await waitFor(() => expect(cancelled).toHaveBeenCalled())
  })

  it('are none at first, and none is asked for while the pipeline is not to run', async () => {
    given.get('/pipelines/orders/range-replays', () => ({ results: [], next: null }))
    show(<ReplaysPanel name="orders" partitions={[partition]} readOnly={null} resting="Start it first." />)
    expect(await screen.findByText('No replays yet')).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Replay range' })).toHaveAccessibleDescription(
      'Start it first.',
    )
  })
})
