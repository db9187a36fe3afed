import { createContext, useContext, useSyncExternalStore } from 'react'

/** The one crosshair of all charts: a time in seconds since 1970, or nothing. What only draws it subscribes by itself. */
export class Crosshair {
  at: number | null = null
  private readonly listeners = new Set<() => void>()

  set = (at: number | null): void => {
    if (at === this.at) return
    this.at = at
    this.listeners.forEach((listener) => listener())
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

export const CrosshairContext = createContext(new Crosshair())

export const useCrosshair = () => useContext(CrosshairContext)

/** What the crosshair stands on, by a function of its time; a change that leaves it the same renders nothing. */
export function useAtCrosshair<T extends string | number | null>(read: (at: number | null) => T): T {
  const crosshair = useCrosshair()
  return useSyncExternalStore(crosshair.subscribe, () => read(crosshair.at))
}
