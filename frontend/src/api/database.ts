import { useSyncExternalStore } from 'react'

/** Whether the server's database is unavailable, as the last answer said. */
let away = false
const listeners = new Set<() => void>()

export function noteDatabase(unavailable: boolean): void {
  if (unavailable === away) return
  away = unavailable
  listeners.forEach((listener) => listener())
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useDatabaseAway = (): boolean => useSyncExternalStore(subscribe, () => away)
