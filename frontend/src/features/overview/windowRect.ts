import type { Rect } from '@tanstack/react-virtual'

/** The window's size, for the first drawing of a long list. Without it the list is drawn empty, and then its rows all at
 * once in the same task, which a slow machine feels. */
export function windowRect(): Rect {
  return { width: window.innerWidth, height: window.innerHeight }
}
