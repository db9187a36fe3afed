import { useSyncExternalStore } from 'react'

/** Times are shown in UTC or in the browser's zone. */
export type TimeZone = 'utc' | 'local'

/** How much room there is around what is shown. */
export type Density = 'comfortable' | 'compact'

/** One of a few values, the first unless another was chosen; the choice outlives the tab. */
class Preference<T extends string> {
  private value: T
  private readonly key: string
  private readonly listeners = new Set<() => void>()

  constructor(key: string, values: readonly [T, ...T[]]) {
    this.key = key
    this.value = values.find((value) => value === stored(key)) ?? values[0]
  }

  readonly get = (): T => this.value

  readonly set = (next: T): void => {
    this.value = next
    try {
      localStorage.setItem(this.key, next)
    } catch {
      // A browser that refuses storage still shows the choice until the tab is closed.
    }
    this.listeners.forEach((listener) => listener())
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

const zone = new Preference<TimeZone>('headgate.time-zone', ['local', 'utc'])
const density = new Preference<Density>('headgate.density', ['comfortable', 'compact'])

export const setTimeZone = zone.set
export const setDensity = density.set

/** Styles find the density at the root of the document. */
export function applyDensity(): void {
  const apply = () => (document.documentElement.dataset.density = density.get())
  density.subscribe(apply)
  apply()
}

export const useTimeZone = (): TimeZone => useSyncExternalStore(zone.subscribe, zone.get)
export const useDensity = (): Density => useSyncExternalStore(density.subscribe, density.get)
