import { vi } from 'vitest'
import { frame } from '@/testing/factories'
import { badgeState } from './badge'
import { LiveConnection } from './connection'

/** An EventSource that the test drives. */
class FakeSource {
  readonly url: string
  closed = false
  private readonly target = new EventTarget()

  constructor(url: string) {
    this.url = url
  }

  addEventListener(name: string, listener: EventListenerOrEventListenerObject) {
    this.target.addEventListener(name, listener)
  }

  close() {
    this.closed = true
  }

  say(name: string, data: object, lastEventId = '') {
    this.target.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data), lastEventId }))
  }

  hello() {
    this.say('hello', { server_time: '2026-11-21T12:00:00Z' })
  }

  fail() {
    this.target.dispatchEvent(new Event('error'))
  }
}

function setUp() {
  vi.useFakeTimers()
  const sources: FakeSource[] = []
  const handlers = { hello: vi.fn(), live: vi.fn(), event: vi.fn(), resumed: vi.fn() }
  const open = (url: string) => {
    sources.push(new FakeSource(url))
    return sources.at(-1)! as unknown as EventSource
  }
  const connection = new LiveConnection({ handlers, open })
  connection.start()
  return { connection, sources, handlers, newest: () => sources.at(-1)! }
}

describe('the event stream', () => {
  it('is live from its first frame on and hands frames over', () => {
    const { connection, handlers, newest } = setUp()
    expect(connection.state.status).toBe('connecting')
    newest().hello()
    newest().say('live', frame())
    expect(connection.state.status).toBe('live')
    expect(handlers.live).toHaveBeenCalledWith(expect.objectContaining({ pipeline: 'orders' }))
    expect(handlers.resumed).not.toHaveBeenCalled()
  })

  it('resumes behind the last event it saw, and says that something may be missing', () => {
    const { sources, handlers, newest } = setUp()
    newest().hello()
    newest().say('event', { id: 41, kind: 'phase.changed' }, '41')
    newest().fail()
    vi.advanceTimersByTime(500)
    expect(sources.map(({ url }) => url)).toEqual([
      '/api/v1/events?queries=-',
      '/api/v1/events?queries=-&last_event_id=41',
    ])
    newest().hello()
    expect(handlers.resumed).toHaveBeenCalledTimes(1)
  })

  it('asks for the queries of the watched pipeline without a gap and without a word', () => {
    const { connection, sources, handlers, newest } = setUp()
    newest().hello()
    newest().say('event', { id: 41, kind: 'phase.changed' }, '41')
    const statuses: string[] = []
    connection.subscribe(() => statuses.push(connection.state.status))
    connection.watch('')
    connection.watch('orders')
    vi.advanceTimersByTime(0)
    expect(sources.map(({ url }) => url).slice(1)).toEqual(['/api/v1/events?queries=orders&last_event_id=41'])
    const [before, after] = sources as [FakeSource, FakeSource]
    before.say('event', { id: 42, kind: 'phase.changed' }, '42')
    expect(handlers.event).toHaveBeenCalledTimes(2)
    expect(before.closed).toBe(false)
    after.hello()
    expect(before.closed).toBe(true)
    after.say('live', frame())
    expect(handlers.live).toHaveBeenCalledTimes(1)
    expect(handlers.resumed).not.toHaveBeenCalled()
    expect(statuses).toEqual([])
    connection.watch('orders')
    vi.advanceTimersByTime(0)
    expect(sources.length).toBe(2)
  })

  it('begins with the watched pipeline, and a stream that cannot take over is a lost one', () => {
    const { connection, sources, newest } = setUp()
    connection.watch('orders')
    vi.advanceTimersByTime(0)
    newest().fail()
    expect(connection.state.status).toBe('reconnecting')
    expect(sources.every(({ closed }) => closed)).toBe(true)
    vi.advanceTimersByTime(500)
    expect(newest().url).toBe('/api/v1/events?queries=orders')
    connection.stop()
    connection.watch('payments')
    vi.advanceTimersByTime(60_000)
    expect(sources.length).toBe(3)
  })

  it('waits longer after every failure and starts anew once it has worked', () => {
    const { sources, newest } = setUp()
    const waits = [500, 1_000, 2_000]
    for (const wait of waits) {
      newest().fail()
      vi.advanceTimersByTime(wait - 1)
      const before = sources.length
      vi.advanceTimersByTime(1)
      expect(sources.length).toBe(before + 1)
    }
    newest().hello()
    newest().fail()
    vi.advanceTimersByTime(500)
    expect(sources.length).toBe(5)
  })

  it('is opened anew when it has been silent for too long', () => {
    const { sources, newest } = setUp()
    newest().hello()
    vi.advanceTimersByTime(14_000)
    newest().say('heartbeat', {})
    vi.advanceTimersByTime(14_000)
    expect(sources.length).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(sources.length).toBe(2)
    expect(sources[0]!.closed).toBe(true)
  })

  it('is closed while the tab is hidden and catches up afterwards', () => {
    const { connection, sources, handlers, newest } = setUp()
    newest().hello()
    connection.stop()
    vi.advanceTimersByTime(600_000)
    expect(sources.every(({ closed }) => closed)).toBe(true)
    connection.start()
    newest().hello()
    expect(handlers.resumed).toHaveBeenCalledTimes(1)
    expect(sources.length).toBe(2)
  })

  it('hears nothing from a stream that was replaced', () => {
    const { connection, sources, handlers } = setUp()
    connection.stop()
    connection.start()
    sources[0]!.say('live', frame())
    sources[0]!.fail()
    expect(handlers.live).not.toHaveBeenCalled()
    expect(connection.state.status).toBe('connecting')
  })
})

describe('the badge', () => {
  it.each([
    ['live', 11_000, 'live'],
    ['live', 13_000, 'stale'],
    ['connecting', 1_000, 'connecting'],
    ['reconnecting', 4_000, 'reconnecting'],
    ['reconnecting', 6_000, 'stale'],
    ['connecting', 6_000, 'stale'],
  ] as const)('of a stream that is %s and was heard %d ms ago says %s', (status, silence, word) => {
    expect(badgeState({ status, lastMessageAt: 1_000_000 }, 1_000_000 + silence)).toBe(word)
  })
})
