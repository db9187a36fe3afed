import { act, screen } from '@testing-library/react'
import { vi } from 'vitest'
import { serverNow } from '@/lib/clock'
import { show } from '@/testing/render'
import { StaleFigures } from './StaleFigures'

const EVERY = 10_000
const AT = Date.parse('2026-11-21T12:00:00Z')
const read = { data: {}, error: null, dataUpdatedAt: AT }

describe('figures that are asked for every ten seconds', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: AT })
    serverNow()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('are marked with their time once the next ones are overdue', () => {
    show(<StaleFigures query={read} every={EVERY} />)
    act(() => vi.advanceTimersByTime(EVERY + 4_000))
    expect(screen.queryByRole('status')).toBeNull()
    act(() => vi.advanceTimersByTime(2_000))
    expect(screen.getByRole('status')).toHaveTextContent(/^These figures are from \d\d:00:00\./)
  })

  it('are marked at once when the next ones failed', () => {
    show(<StaleFigures query={{ ...read, error: new Error() }} every={EVERY} />)
    expect(screen.getByRole('status')).toBeInTheDocument()
  })

  it('are not marked where there are none, and where they are not asked for again', () => {
    show(
      <>
        <StaleFigures query={{ ...read, data: undefined }} every={EVERY} />
        <StaleFigures query={{ ...read, dataUpdatedAt: 0 }} every={EVERY} />
        <StaleFigures query={read} every={false} />
      </>,
    )
    act(() => vi.advanceTimersByTime(10 * EVERY))
    expect(screen.queryByRole('status')).toBeNull()
  })
})
