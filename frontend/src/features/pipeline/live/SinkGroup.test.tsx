import { act, screen, within } from '@testing-library/react'
import { vi } from 'vitest'
import { sinkGroup } from '@/testing/factories'
import { show } from '@/testing/render'
import { SinkGroup } from './SinkGroup'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const away = { sink: 'lake_a', failures: 3, until: '2026-11-21T12:00:08Z', cause: 'Connection refused' }

function failed() {
  return within(screen.getByRole('list', { name: 'Failed sinks' }))
}

describe('the pools of a sink group', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: NOW })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('says which sink is active and which stands by', () => {
    show(<SinkGroup group={sinkGroup()} />)
    const live = within(screen.getByRole('list', { name: 'Live sinks' }))
    expect(live.getByText('lake_a: active')).toBeInTheDocument()
    expect(live.getByText('lake_b: live')).toBeInTheDocument()
    expect(screen.queryByRole('list', { name: 'Failed sinks' })).toBeNull()
  })

  it('says why a sink is out and counts down to its next try', () => {
    show(<SinkGroup group={sinkGroup({ active: 'lake_b', live: ['lake_b'], failed: [away] })} />)
    expect(failed().getByText('lake_a: failed 3 times in a row')).toBeInTheDocument()
    expect(failed().getByText('Connection refused')).toBeInTheDocument()
    expect(failed().getByText('next attempt in 8.0 s.')).toBeInTheDocument()
    act(() => vi.advanceTimersByTime(3_000))
    expect(failed().getByText('next attempt in 5.0 s.')).toBeInTheDocument()
    act(() => vi.advanceTimersByTime(6_000))
    expect(failed().getByText('next attempt with the next batch.')).toBeInTheDocument()
  })

  it('says that the batch is held where no sink is left', () => {
    show(<SinkGroup group={sinkGroup({ active: null, live: [], failed: [away] })} />)
    expect(screen.getByText('No sink is live. The batch is held.')).toBeInTheDocument()
  })

  it('does not call a balanced sink active', () => {
    show(<SinkGroup group={sinkGroup({ processor: 'load_balance' })} />)
    expect(screen.getByText('lake_a: took the last batch')).toBeInTheDocument()
    expect(screen.getByText('load balance')).toBeInTheDocument()
  })
})
