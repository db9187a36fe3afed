import type { SeriesPoint } from '@/api/types'
import { appendPoint } from './reducer'

const WINDOW_MS = 3 * 60_000

/** The last minutes of the pipelines whose sparklines were shown. What the stream brings of others is not kept: of a
 * thousand pipelines it would be most of the tab's memory. */
class Samples {
  private readonly points = new Map<string, SeriesPoint[]>()
  private readonly listeners = new Map<string, Set<() => void>>()
  private static readonly none: SeriesPoint[] = []

  get = (name: string): SeriesPoint[] => this.points.get(name) ?? Samples.none

  /** From now on what is added of a pipeline is kept. */
  track(name: string): void {
    if (!this.points.has(name)) this.points.set(name, Samples.none)
  }

  add(name: string, point: SeriesPoint): void {
    const points = this.points.get(name)
    if (points) this.set(name, appendPoint(points, point, WINDOW_MS))
  }

  /** Puts the past before what the stream has brought so far. */
  seed(name: string, past: SeriesPoint[]): void {
    const merged = this.get(name).reduce((points, point) => appendPoint(points, point, WINDOW_MS), past)
    const start = Date.parse(merged.at(-1)?.at ?? '') - WINDOW_MS
    this.set(
      name,
      merged.filter(({ at }) => Date.parse(at) >= start),
    )
  }

  private set(name: string, points: SeriesPoint[]): void {
    this.points.set(name, points)
    this.listeners.get(name)?.forEach((listener) => listener())
  }

  subscribe(name: string, listener: () => void): () => void {
    const own = this.listeners.get(name) ?? new Set()
    this.listeners.set(name, own.add(listener))
    return () => {
      own.delete(listener)
      if (own.size === 0) this.listeners.delete(name)
    }
  }
}

export const samples = new Samples()
