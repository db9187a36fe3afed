import { useSyncExternalStore } from 'react'

/** One ticking clock for the whole page, on the server's time where it is known. */

const TICK_MS = 1_000
const listeners = new Set<() => void>()
let offsetMs = 0
let current = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

export function setServerTime(serverTime: string): void {
  const parsed = Date.parse(serverTime)
  if (!Number.isNaN(parsed)) offsetMs = parsed - Date.now()
}

/** Milliseconds since 1970 by the server's clock. */
export function serverNow(): number {
  return Date.now() + offsetMs
}

/** A moment of this machine's clock by the server's. */
export function atServer(localMs: number): number {
  return localMs + offsetMs
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
}

function tick(): void {
  current = serverNow()
  listeners.forEach((listener) => listener())
}

function snapshot(): number {
  if (!timer) current = serverNow()
  return current
}

/** What is read from the server's time once a second. A component is drawn again only when that changes. */
export function useAtTime(read: (now: number) => boolean): boolean {
  return useSyncExternalStore(subscribe, () => read(snapshot()))
}

/** The server's time, refreshed once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, snapshot)
}
