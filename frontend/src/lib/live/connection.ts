import type { HeadgateEvent, LiveFrame } from '@/api/types'

/** Where the stream stands. `lastMessageAt`: when the server last responded, by the stream or by any answer to a request. */
export interface ConnectionState {
  status: 'connecting' | 'live' | 'reconnecting' | 'hidden'
  lastMessageAt: number | null
}

export interface Handlers {
  hello: (serverTime: string) => void
  live: (frame: LiveFrame) => void
  event: (event: HeadgateEvent) => void
  /** The stream is open again after it was not: what happened in between may be missing from the cache. */
  resumed: () => void
}

type Source = Pick<EventSource, 'addEventListener' | 'close'>

interface Options {
  handlers: Handlers
  open?: (url: string) => Source
  now?: () => number
}

const PATH = '/api/v1/events'
const BACKOFF_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000]
/** The server says something at least every ten seconds; a stream more silent than this is dead, though no error says so. */
const SILENCE_MS = 15_000

/**
 * The one event stream of a tab. It reconnects by itself with a growing delay, resumes behind the last event it has
 * seen, and is closed while the tab is hidden. Figures come without those of queries, which are half of them, but for
 * the pipeline that is watched.
 */
export class LiveConnection {
  state: ConnectionState = { status: 'connecting', lastMessageAt: null }
  private readonly listeners = new Set<() => void>()
  private readonly handlers: Handlers
  private readonly open: (url: string) => Source
  private readonly now: () => number
  private source: Source | null = null
  /** Takes the place of `source` as soon as it speaks, so that nothing is missed between them. */
  private next: Source | null = null
  private watched = ''
  private asked = ''
  private lastEventId = ''
  private attempts = 0
  private interrupted = false
  private reconnectTimer: ReturnType<typeof setTimeout> | undefined
  private silenceTimer: ReturnType<typeof setTimeout> | undefined
  private watchTimer: ReturnType<typeof setTimeout> | undefined

  constructor({ handlers, open = (url) => new EventSource(url), now = Date.now }: Options) {
    this.handlers = handlers
    this.open = open
    this.now = now
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  start(): void {
    if (!this.source) this.connect('connecting')
  }

  /** Closes the stream on purpose: the tab is hidden or no user is logged in. */
  stop(): void {
    this.drop()
    this.interrupted = true
    this.set({ status: 'hidden' })
  }

  /** The pipeline whose figures are to have those of its queries; empty for none. From one page to the next it changes
   * twice, which is one new stream. */
  watch(pipeline: string): void {
    this.watched = pipeline
    clearTimeout(this.watchTimer)
    this.watchTimer = setTimeout(() => this.replace(), 0)
  }

  /** Any answer of the server counts as a response. */
  heard(): void {
    this.set({ lastMessageAt: this.now() })
  }

  private connect(status: 'connecting' | 'reconnecting'): void {
    this.drop()
    this.set({ status })
    this.source = this.opened()
    this.watchSilence()
  }

  private replace(): void {
    if (!this.source || this.asked === this.watched) return
    this.next?.close()
    this.next = this.opened()
  }

  private opened(): Source {
    this.asked = this.watched
    const query = new URLSearchParams({ queries: this.asked || '-' })
    if (this.lastEventId) query.set('last_event_id', this.lastEventId)
    const source = this.open(`${PATH}?${query.toString()}`)
    this.on(source, 'hello', (message) => this.onHello(message))
    this.on(source, 'live', (message) => this.handlers.live(JSON.parse(message.data) as LiveFrame))
    this.on(source, 'event', (message) => this.onEvent(message))
    this.on(source, 'heartbeat', () => {})
    source.addEventListener('error', () => {
      if (this.source === source || this.next === source) this.retry()
    })
    return source
  }

  private on(source: Source, name: string, handle: (message: MessageEvent<string>) => void): void {
    source.addEventListener(name, (message) => {
      if (this.next === source) this.take(source)
      if (this.source !== source) return
      this.set({ status: 'live', lastMessageAt: this.now() })
      this.watchSilence()
      handle(message as MessageEvent<string>)
    })
  }

  private take(source: Source): void {
    this.source?.close()
    this.source = source
    this.next = null
  }

  private onHello(message: MessageEvent<string>): void {
    this.attempts = 0
    this.handlers.hello((JSON.parse(message.data) as { server_time: string }).server_time)
    if (this.interrupted) this.handlers.resumed()
    this.interrupted = false
  }

  private onEvent(message: MessageEvent<string>): void {
    if (message.lastEventId) this.lastEventId = message.lastEventId
    this.handlers.event(JSON.parse(message.data) as HeadgateEvent)
  }

  private retry(): void {
    this.drop()
    this.interrupted = true
    this.set({ status: 'reconnecting' })
    const delay = BACKOFF_MS[Math.min(this.attempts, BACKOFF_MS.length - 1)]
    this.attempts += 1
    this.reconnectTimer = setTimeout(() => this.connect('reconnecting'), delay)
  }

  /** Re-opened without a word to the user: the badge changes only when that fails. */
  private watchSilence(): void {
    clearTimeout(this.silenceTimer)
    this.silenceTimer = setTimeout(() => this.connect('reconnecting'), SILENCE_MS)
  }

  private drop(): void {
    clearTimeout(this.reconnectTimer)
    clearTimeout(this.silenceTimer)
    this.source?.close()
    this.next?.close()
    this.source = this.next = null
  }

  /** Listeners get a new status only: `lastMessageAt` moves with every frame, and a component that shows it has a clock. */
  private set(change: Partial<ConnectionState>): void {
    const before = this.state.status
    this.state = { ...this.state, ...change }
    if (this.state.status !== before) this.listeners.forEach((listener) => listener())
  }
}
