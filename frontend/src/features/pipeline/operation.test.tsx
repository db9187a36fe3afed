import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { operation, pipeline, run, session, T0 } from '@/testing/factories'
import { show } from '@/testing/render'
import { given } from '@/testing/server'
import type { Drain } from './DrainFigures'
import { OperationPanel } from './OperationPanel'
import { untold } from './told'

describe('an operation under way', () => {
  it('that is a stop leads to what it waits for and to a stop by force', async () => {
    given.get('/session', () => session())
    given.get('/runs/7/stacks', () => ({ run: 7, dumps: [], elsewhere: '' }))
    const stop = operation({ kind: 'stop' })
    show(<OperationPanel operation={stop} pipeline={pipeline({}, ['force-stop'])} run={run()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Show stacks' }))
    expect(await screen.findByRole('dialog', { name: 'Stacks of run 3' })).toBeInTheDocument()
    await userEvent.keyboard('{Escape}')
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    await userEvent.click(screen.getByRole('button', { name: 'Force stop' }))
    expect(await screen.findByRole('dialog', { name: 'Force stop orders?' })).toBeInTheDocument()
  })

  it('that waits for the in-flight batch can stop without it', async () => {
    const asked = vi.fn()
    given.post('/pipelines/orders/stop', async (request) => {
      asked(await request.json())
      return operation({ kind: 'stop' })
    })
    const step = { message: '', started_at: null, ended_at: null }
    const draining = operation({ kind: 'stop', steps: [{ ...step, name: 'draining', state: 'running' }] })
    show(<OperationPanel operation={draining} pipeline={pipeline({}, ['force-stop'])} run={run()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Stop without draining' }))
    await waitFor(() => expect(asked).toHaveBeenCalledWith({ drain: false }))
  })

  it('says what remains, how long still, and what a stop by force means', () => {
    const step = { message: '', started_at: null, ended_at: null }
    const pausing = operation({
      kind: 'pause',
      steps: [{ ...step, name: 'in_flight_batch', state: 'running' }],
    })
    const waiting: Drain = {
      kind: 'pause',
      since: T0,
      deadline: new Date(Date.now() + 90_000).toISOString(),
      batches: 1,
      records: 1_250,
      rate: 50,
      seconds_left: 25,
      as_of: new Date().toISOString(),
      stale: false,
      held_by: ['sinks.out'],
      possible_duplicates: 1_250,
    }
    const shown = (drain: Drain) => (
      <OperationPanel operation={pausing} pipeline={pipeline({}, ['force-stop'])} run={run()} drain={drain} />
    )
    const { unmount } = show(shown(waiting))
    const term = (name: string) => screen.getByText(name).nextElementSibling
    expect(term('Records remaining')).toHaveTextContent('up to 1,250')
    expect(term('Time left (estimate)')).toHaveTextContent('about 25 s')
    expect(term('Delayed by')).toHaveTextContent('sinks.out')
    expect(screen.getByText(/up to 1,250 records are reread; at most 1,250 possible/)).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Force stop' })).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Cancel' })).toBeInTheDocument()
    unmount()
    show(shown({ ...waiting, records: null, seconds_left: null, stale: true, possible_duplicates: 0 }))
    expect(term('Records remaining')).toHaveTextContent('unknown until the batch ends')
    expect(term('Time left (estimate)')).toHaveTextContent('unknown')
    expect(screen.getByText(/in-flight records are reread; no duplicates/)).toBeInTheDocument()
    expect(screen.getByText(/These figures are old/)).toBeInTheDocument()
  })

  it('that starts or pauses offers no stop by force', () => {
    show(<OperationPanel operation={operation()} pipeline={pipeline({}, ['force-stop'])} run={run()} />)
    expect(screen.queryByRole('button', { name: 'Force stop' })).toBeNull()
  })

  it('that replays a range can be cancelled', async () => {
    const cancelled = vi.fn()
    given.delete('/operations/op-1', () => {
      cancelled()
      return operation({ kind: 'replay_range', state: 'CANCELLED' })
    })
    show(<OperationPanel operation={operation({ kind: 'replay_range' })} pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }))
    await waitFor(() => expect(cancelled).toHaveBeenCalled())
  })
})

describe('the cause of a block', () => {
  const cause = 'sources.shop: 1,204 records are gone.'
  const headline = `Blocked. ${cause} Choose a start position.`

  it('that the headline tells is not repeated as a finding', () => {
    const finding = {
      ...{ path: 'sources.shop', code: 'C', severity: 'error' as const },
      ...{ suggestion: '', line: null, column: null },
    }
    const findings = [
      { ...finding, message: '1,204 records are gone.' },
      { ...finding, message: 'The group is lost.' },
    ]
    expect(untold({ headline, findings }).map(({ message }) => message)).toEqual(['The group is lost.'])
  })

  it('is not repeated by the start that failed because of it', () => {
    const failed = (message: string) =>
      operation({
        kind: 'start',
        state: 'FAILED',
        ended_at: new Date().toISOString(),
        error: { code: 'c', message, hint: '' },
      })
    const { unmount } = show(<OperationPanel operation={failed(cause)} pipeline={pipeline({ headline })} />)
    expect(screen.getByText('Start failed')).toBeInTheDocument()
    expect(screen.queryByRole('alert')).toBeNull()
    unmount()
    show(<OperationPanel operation={failed('No room.')} pipeline={pipeline({ headline })} />)
    expect(screen.getByRole('alert')).toHaveTextContent('No room.')
  })
})
