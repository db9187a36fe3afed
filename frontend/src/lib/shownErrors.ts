import { useLayoutEffect, useSyncExternalStore } from 'react'

/** The errors that the page shows where they belong, each with how many places show it. */
let shown: ReadonlyMap<unknown, number> = new Map()
const listeners = new Set<() => void>()

function add(error: unknown, places: 1 | -1): void {
  const next = new Map(shown)
  next.set(error, (shown.get(error) ?? 0) + places)
  if (next.get(error) === 0) next.delete(error)
  shown = next
  listeners.forEach((listener) => listener())
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Notes that a component shows an error, for as long as it does. */
export function useShows(error: unknown): void {
  useLayoutEffect(() => {
    add(error, 1)
    return () => add(error, -1)
  }, [error])
}

export const useShownErrors = () => useSyncExternalStore(subscribe, () => shown)
