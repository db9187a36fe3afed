import { act, screen } from '@testing-library/react'
import { useQuery } from '@tanstack/react-query'
import { vi } from 'vitest'
import { keys } from '@/api/keys'
import { show } from '@/testing/render'
import { useRereadWhile } from './useRereadWhile'

/** Longer than it takes until everything is asked for again. */
const SLOW_MS = 8_000

function Silent({ read, inspect }: { read: () => unknown; inspect: () => unknown }) {
  const { data } = useQuery({ queryKey: keys.status('orders'), queryFn: read })
  useQuery({ queryKey: keys.positions('orders'), queryFn: inspect })
  useRereadWhile(true, [keys.detail('orders'), keys.status('orders')])
  return <output>{String(data)}</output>
}

describe('while an agent is silent', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('a read that takes longer than the pause between two is left to end', async () => {
    let asked = 0
    const read = () => new Promise((done) => setTimeout(done, SLOW_MS, (asked += 1)))
    show(<Silent read={read} inspect={() => 0} />)
    await act(() => vi.advanceTimersByTimeAsync(3 * SLOW_MS))
    expect(screen.getByRole('status')).toHaveTextContent(/^2$/)
  })

  it('only what it is about is read again, and not what a host is asked for', async () => {
    const [read, inspect] = [vi.fn(() => 0), vi.fn(() => 0)]
    show(<Silent read={read} inspect={inspect} />)
    await act(() => vi.advanceTimersByTimeAsync(10_000))
    expect(read).toHaveBeenCalledTimes(4)
    expect(inspect).toHaveBeenCalledTimes(1)
  })
})
