import { useSyncExternalStore } from 'react'

/** Times are shown in UTC or in the browser's zone; the choice outlives the tab. */
export type TimeZone = 'utc' | 'local'

const KEY = 'headgate.time-zone'
const listeners = new Set<() => void>()
let zone: TimeZone = readZone()

function readZone(): TimeZone {
  try {
    return localStorage.getItem(KEY) === 'utc' ? 'utc' : 'local'
  } catch {
    return 'local'
  }
}

export function setTimeZone(next: TimeZone): void {
  zone = next
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // A browser that refuses storage still shows the chosen zone until the tab is closed.
  }
  listeners.forEach((listener) => listener())
}

export function useTimeZone(): TimeZone {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => zone,
  )
}
