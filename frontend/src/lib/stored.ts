import { useSyncExternalStore } from 'react'

/** A value in the browser's storage: it outlives the tab, and every part of the page follows it. */
export interface Stored<T> {
  get: () => T
  /** Changes what is stored now, which another tab may have changed. */
  update: (change: (old: T) => T) => void
  subscribe: (listener: () => void) => () => void
}

/** `parse` answers for any text, null without one. A browser that refuses storage keeps the value until the tab is closed. */
export function stored<T>(
  key: string,
  parse: (text: string | null) => T,
  print: (value: T) => string,
): Stored<T> {
  const listeners = new Set<() => void>()
  let value = parse(read(key))
  return {
    get: () => value,
    update(change) {
      const there = read(key)
      value = change(there === null ? value : parse(there))
      write(key, print(value))
      listeners.forEach((listener) => listener())
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** One store for each user, made when it is first asked for. */
export function storedByUser<T>(
  name: string,
  parse: (text: string | null) => T,
  print: (value: T) => string,
): (user: string) => Stored<T> {
  const stores = new Map<string, Stored<T>>()
  return (user) => {
    const store = stores.get(user) ?? stored(`${name}.${user}`, parse, print)
    stores.set(user, store)
    return store
  }
}

export function useStored<T>({ subscribe, get }: Stored<T>): T {
  return useSyncExternalStore(subscribe, get)
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function write(key: string, text: string): void {
  try {
    localStorage.setItem(key, text)
  } catch {
    // The value in memory is what the page shows.
  }
}

/** What a text of JSON holds; null where it is none. */
export function parsed(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
