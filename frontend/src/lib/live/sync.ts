import type { QueryClient, QueryKey } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { fetchPipeline, pipelinesQuery } from '@/api/pipelines'
import type { HeadgateEvent, LiveFrame, Pipeline, PipelineStatus } from '@/api/types'
import { applyFrame, applyFrames, applyToStatus, changesMeaning, pointOf } from './reducer'
import { samples } from './samples'

const FLUSH_MS = 250
/** Between two reads of what events have changed. The first comes at once; a storm of events is gathered. */
const READ_MS = 1_000
/** After a read of the whole list, which costs the server most. */
const READ_LIST_MS = 5_000
/** Above this many changed pipelines at once, one read of the list is cheaper than one request for each. */
const MANY = 10
const CHANGES_LIST = ['pipeline.created', 'pipeline.archived', 'pipeline.purged']

/**
 * Carries the stream into the server cache. Frames are gathered and applied four times a second, however many arrive;
 * whatever changes the meaning of a pipeline (and not just its figures) is read again from the API.
 */
export class LiveSync {
  private readonly client: QueryClient
  private readonly frames = new Map<string, LiveFrame>()
  private readonly changed = new Set<string>()
  private listChanged = false
  private migrationsChanged = false
  private alertsChanged = false
  private eventsChanged = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private reading: ReturnType<typeof setTimeout> | undefined

  constructor(client: QueryClient) {
    this.client = client
  }

  onLive = (frame: LiveFrame): void => {
    this.frames.set(frame.pipeline, frame)
    this.schedule()
  }

  onEvent = (event: HeadgateEvent): void => {
    if (CHANGES_LIST.includes(event.kind)) this.listChanged = true
    if (/^(migration|host\.evacuation)/.test(event.kind)) this.migrationsChanged = true
    if (event.kind.startsWith('alert.')) this.alertsChanged = true
    if (event.kind.startsWith('installation.')) this.refreshMode()
    if (event.pipeline) this.changed.add(event.pipeline)
    this.eventsChanged = true
    this.schedule()
  }

  /** The stream was away: everything on the screen is read again. */
  refreshAll = (): void => {
    void this.client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== keys.session[0] })
  }

  private refreshMode(): void {
    void this.client.invalidateQueries({ queryKey: keys.session })
    void this.client.invalidateQueries({ queryKey: keys.installation })
  }

  private schedule(): void {
    this.timer ??= setTimeout(this.flush, FLUSH_MS)
  }

  flush = (): void => {
    clearTimeout(this.timer)
    this.timer = undefined
    this.noteMeaning()
    this.applyToList()
    this.applyToPipelines()
    this.keepSamples()
    this.frames.clear()
    if (this.reading === undefined) this.read()
  }

  /** Reads what has changed since the last time, and whatever changes meanwhile after a pause. */
  private read = (): void => {
    this.reading = undefined
    const pause = this.readPipelines() ? READ_LIST_MS : READ_MS
    this.readMigrations()
    this.readAlerts()
    // Whatever changed, the lists of events are among it.
    if (this.readEvents()) this.reading = setTimeout(this.read, pause)
  }

  private noteMeaning(): void {
    const list = this.client.getQueryData<Pipeline[]>(pipelinesQuery.queryKey) ?? []
    for (const pipeline of [...list, ...this.openDetails()]) {
      const frame = this.frames.get(pipeline.name)
      if (frame && changesMeaning(pipeline, frame)) this.changed.add(pipeline.name)
    }
  }

  private openDetails(): Pipeline[] {
    const details = this.client.getQueriesData<Pipeline>({
      predicate: ({ queryKey }) => queryKey[2] === 'detail',
    })
    return details.flatMap(([, pipeline]) => pipeline ?? [])
  }

  private applyToList(): void {
    this.client.setQueryData<Pipeline[]>(
      pipelinesQuery.queryKey,
      (list) => list && applyFrames(list, this.frames),
    )
  }

  /** Goes over the few queries that are cached, not over the many frames. */
  private applyToPipelines(): void {
    for (const { queryKey } of this.client.getQueryCache().getAll()) {
      const [, name, part] = queryKey
      const frame = typeof name === 'string' ? this.frames.get(name) : undefined
      if (!frame) continue
      if (part === 'detail') this.update<Pipeline>(queryKey, (old) => applyFrame(old, frame))
      else if (part === 'status') this.update<PipelineStatus>(queryKey, (old) => applyToStatus(old, frame))
    }
  }

  private update<T>(queryKey: QueryKey, change: (old: T) => T): void {
    this.client.setQueryData<T>(queryKey, (old) => old && change(old))
  }

  private keepSamples(): void {
    for (const [name, frame] of this.frames) {
      const point = pointOf(frame)
      if (point) samples.add(name, point)
    }
  }

  /** Whether the whole list is read. */
  private readPipelines(): boolean {
    const names = [...this.changed]
    const whole = this.listChanged || names.length > MANY
    this.changed.clear()
    this.listChanged = false
    if (whole) this.invalidate(keys.pipelines)
    else names.forEach((name) => void this.refreshRow(name))
    for (const name of names) {
      this.invalidate(keys.pipeline(name))
      this.invalidate(keys.events(name))
      this.eventsChanged = true
    }
    return whole
  }

  private readMigrations(): void {
    if (!this.migrationsChanged) return
    this.migrationsChanged = false
    this.invalidate(keys.anyMigration)
    this.invalidate(keys.evacuations)
  }

  private readAlerts(): void {
    if (!this.alertsChanged) return
    this.alertsChanged = false
    this.invalidate(keys.anyAlert)
  }

  /** Whether there was anything to read. */
  private readEvents(): boolean {
    if (!this.eventsChanged) return false
    this.eventsChanged = false
    this.invalidate(keys.events())
    return true
  }

  private invalidate(queryKey: QueryKey): void {
    void this.client.invalidateQueries({ queryKey })
  }

  private async refreshRow(name: string): Promise<void> {
    const list = this.client.getQueryData<Pipeline[]>(pipelinesQuery.queryKey)
    if (!list) return
    const fresh = await fetchPipeline(name).catch(() => null)
    if (fresh) replaceRow(this.client, fresh)
  }
}

/** Puts a newer pipeline object into the cached list. */
export function replaceRow(client: QueryClient, fresh: Pipeline): void {
  client.setQueryData<Pipeline[]>(pipelinesQuery.queryKey, (list) =>
    list?.map((row) => (row.name === fresh.name ? fresh : row)),
  )
}
