/** A text being written outlives a reload of its tab, and nothing else. */

const key = (name: string) => `headgate.draft.${name}`

export function readDraft(name: string): string | null {
  try {
    return sessionStorage.getItem(key(name))
  } catch {
    return null
  }
}

export function keepDraft(name: string, text: string): void {
  try {
    sessionStorage.setItem(key(name), text)
  } catch {
    // Without storage the text is simply not kept over a reload.
  }
}

export function dropDraft(name: string): void {
  try {
    sessionStorage.removeItem(key(name))
  } catch {
    // Nothing was kept, so nothing is left.
  }
}
