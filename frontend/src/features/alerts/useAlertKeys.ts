import { useHotkeys } from '@mantine/hooks'
import { useRef, type RefObject } from 'react'

/** Moves between the cards of alerts by j and k, and presses their buttons: each card names what a key does in it. */
export function useAlertKeys(): RefObject<HTMLDivElement | null> {
  const inbox = useRef<HTMLDivElement>(null)
  const step = (by: 1 | -1) => () => {
    if (document.activeElement?.closest('[role="dialog"]')) return
    const all = [...(inbox.current?.querySelectorAll<HTMLElement>('[data-alert]') ?? [])]
    const at = all.findIndex((card) => card.contains(document.activeElement))
    all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)]?.focus()
  }
  const press = (part: string) => () => {
    const card = document.activeElement?.closest('[data-alert]')
    card?.querySelector<HTMLElement>(`[data-key="${part}"]`)?.click()
  }
  const open = (event: KeyboardEvent) => {
    if (!document.activeElement?.matches('[data-alert]')) return
    event.preventDefault()
    document.activeElement.querySelector<HTMLElement>('[data-key="subject"] a')?.click()
  }
  useHotkeys([
    ['j', step(1)],
    ['k', step(-1)],
    ['a', press('acknowledge')],
    ['s', press('silence')],
    ['x', press('select')],
    ['Enter', open, { preventDefault: false }],
  ])
  return inbox
}
