import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { PositionPlan } from '@/api/types'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { T0 } from '@/testing/factories'
import { Choices } from './Choices'
import { DecideDialog } from './DecideDialog'
import { Partitions } from './Partitions'

const move = { source: 'shop', channel: 'main', topic: 'orders', partition: 2, old: 100, new: 1_304 }

const plan = (fields: Partial<PositionPlan> = {}): PositionPlan => ({
  id: '1',
  pipeline: 'orders',
  state: 'ANSWERED',
  to: { goal: 'earliest' },
  hash: 'abc123',
  skip: 1_204,
  replay: 0,
  gone: 1_204,
  possible_duplicates: 7,
  partitions: [{ ...move, skip: 1_204, replay: 0, gone: 1_204 }],
  impossible: [],
  asked_by: 'ana',
  asked_at: T0,
  expires_at: null,
  ...fields,
})

describe('the ways on', () => {
  const choice = {
    to: 'earliest',
    skip: 1_204,
    replay: 0,
    recommended: true,
    reason: 'It skips the fewest.',
    partitions: [],
  }
  const latest = { ...choice, to: 'latest', skip: 5_000, recommended: false, reason: '' }

  it('are each shown with what they skip and read again', async () => {
    const onPlan = vi.fn()
    show(<Choices choices={[choice, latest]} reason={null} onPlan={onPlan} />)
    const rows = screen.getAllByRole('row').slice(1)
    expect(rows[0]).toHaveTextContent('Recommended. It skips the fewest.')
    expect(rows[1]).not.toHaveTextContent('Recommended')
    expect(screen.getByRole('row', { name: /Log start/ })).toHaveTextContent('1,204')
    await userEvent.click(screen.getByRole('button', { name: 'Plan: Log start' }))
    expect(onPlan).toHaveBeenLastCalledWith('earliest')
    await userEvent.type(screen.getByLabelText('Another position'), ' timestamp=-30m {Enter}')
    expect(onPlan).toHaveBeenLastCalledWith('timestamp=-30m')
  })

  it('are not planned while the pipeline runs, and it says why', () => {
    show(<Choices choices={[choice]} reason="Stop it first." onPlan={() => {}} />)
    const button = screen.getByRole('button', { name: 'Plan: Log start' })
    expect(button).toHaveAttribute('aria-disabled', 'true')
    expect(button).toHaveAccessibleDescription('Stop it first.')
  })
})

describe('a decision', () => {
  it('shows what it does to each partition and applies the plan that was shown, once the name was typed', async () => {
    const asked = vi.fn()
    const onClose = vi.fn()
    given.post('/pipelines/orders/positions/plan', async (request) => {
      asked(await request.json())
      return plan()
    })
    given.post('/pipelines/orders/positions/apply', async (request) => {
      asked(await request.json())
      return plan()
    })
    show(<DecideDialog name="orders" to="earliest" onClose={onClose} />)
    expect(await screen.findByText('Skipped')).toBeInTheDocument()
    expect(screen.getByRole('row', { name: /orders\/2/ })).toHaveTextContent('1,304')
    const apply = screen.getByRole('button', { name: 'Apply position' })
    expect(apply).toHaveAccessibleDescription('Type the name first.')
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Apply position' }))
    await waitFor(() => expect(onClose).toHaveBeenCalled())
    expect(asked.mock.calls).toEqual([[{ to: 'earliest', source: null }], [{ hash: 'abc123' }]])
  })

  it('that became stale is refused in words and stays open', async () => {
    given.post('/pipelines/orders/positions/plan', () => plan())
    given.post('/pipelines/orders/positions/apply', () =>
      problem(409, 'plan_stale', 'Something has changed since.', { hint: 'Plan again.' }),
    )
    const onClose = vi.fn()
    show(<DecideDialog name="orders" to="earliest" onClose={onClose} />)
    await userEvent.type(await screen.findByLabelText('Type orders to confirm'), 'orders')
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Apply position' })).not.toHaveAttribute('aria-disabled'),
    )
    await userEvent.click(screen.getByRole('button', { name: 'Apply position' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('Something has changed since.')
    expect(onClose).not.toHaveBeenCalled()
  })

  it('cannot be applied where the host has not answered', async () => {
    given.post('/pipelines/orders/positions/plan', () => plan({ state: 'PENDING', hash: null }))
    show(<DecideDialog name="orders" to="latest" onClose={() => {}} />)
    expect(await screen.findByText(/The host did not respond/)).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Apply position' })).toHaveAccessibleDescription(/no plan/)
  })
})

it('says of each partition whether its witnesses agree', () => {
  const place = { source: 'shop', channel: 'main', topic: 'orders', group: null }
  const known = { ledger: 5, checkpoint: 5, log_start: 0, log_end: 9 }
  show(
    <Partitions
      partitions={[
        { ...place, ...known, partition: 0, verdict: 'AGREES', codes: [] },
        { ...place, ...known, partition: 1, verdict: 'BELOW_LOG_START', codes: ['BELOW_LOG_START'] },
        { ...place, ...known, partition: 2, verdict: 'UNKNOWN', codes: [] },
      ]}
    />,
  )
  expect(screen.getByRole('row', { name: /orders\/0/ })).toHaveTextContent('agrees')
  expect(screen.getByRole('row', { name: /orders\/1/ })).toHaveTextContent('BELOW_LOG_START')
  expect(screen.getByRole('row', { name: /orders\/2/ })).toHaveTextContent('not inspected')
})
