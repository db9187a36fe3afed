import { useSyncExternalStore } from 'react'

let message = ''
const listeners = new Set<() => void>()

/** Says something to screen readers without moving the focus. */
export function announce(text: string): void {
  message = text
  listeners.forEach((listener) => listener())
}

export function Announcer() {
  const text = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => message,
  )
  return (
    <div aria-live="polite" className="visually-hidden">
      {text}
    </div>
  )
}
