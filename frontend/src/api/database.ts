import { useSyncExternalStore } from 'react'
import { serverNow } from '@/lib/clock'

/** When the server last answered with its database, and whether its last answer was without. */
let lastGood = serverNow()
let away = false
const listeners = new Set<() => void>()

export function noteDatabase(unavailable: boolean): void {
  if (!unavailable) lastGood = serverNow()
  if (unavailable === away) return
  away = unavailable
  listeners.forEach((listener) => listener())
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Since when the server's database is unavailable, in milliseconds since 1970; null while it answers. */
export const useDatabaseAwaySince = (): number | null =>
  useSyncExternalStore(subscribe, () => (away ? lastGood : null))
