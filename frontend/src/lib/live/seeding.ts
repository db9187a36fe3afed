import { fetchSeries } from '@/api/pipelines'
import type { SeriesPoint } from '@/api/types'
import { samples } from './samples'

const MINUTES = 5
const AT_ONCE = 2

type Fetch = (name: string) => Promise<SeriesPoint[]>

/** Fetches the past of sparklines, each once and only a few at a time: a list that is scrolled must not flood the API. */
export class Seeding {
  private readonly asked = new Set<string>()
  private readonly queue: string[] = []
  private readonly fetch: Fetch
  private busy = 0

  constructor(fetch: Fetch) {
    this.fetch = fetch
  }

  want(name: string): void {
    if (this.asked.has(name)) return
    this.asked.add(name)
    samples.track(name)
    this.queue.push(name)
    this.next()
  }

  private next(): void {
    const name = this.busy < AT_ONCE ? this.queue.shift() : undefined
    if (name === undefined) return
    this.busy += 1
    void this.load(name).finally(() => {
      this.busy -= 1
      this.next()
    })
  }

  /** A past that cannot be had leaves the line shorter; it continues with what the stream brings. */
  private async load(name: string): Promise<void> {
    const points = await this.fetch(name).catch(() => [])
    samples.seed(name, points)
  }
}

export const seeding = new Seeding((name) => fetchSeries(name, MINUTES))
