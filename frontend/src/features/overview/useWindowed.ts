import { measureElement, useWindowVirtualizer, windowScroll } from '@tanstack/react-virtual'
import { useLayoutEffect, useState } from 'react'

interface WindowedOptions {
  count: number
  /** Height of a line in pixels until it is measured. */
  estimateSize: (index: number) => number
  /** Lines drawn above and below the window, so that scrolling and the Tab key meet no blank. */
  overscan: number
}

/**
 * The lines of a long list near the window, and how far the list stands from the top of the page. Whatever asks the
 * browser for a place or a size makes it lay out the page within the task that draws the list, which a slow machine
 * feels: sizes and places are learned from observers, once the page is laid out.
 */
export function useWindowed(ref: { current: HTMLElement | null }, options: WindowedOptions) {
  const offset = useOffsetTop(ref)
  const virtual = useWindowVirtualizer({
    ...options,
    scrollMargin: offset,
    // Without it the list is drawn empty first, and then its lines all at once in the same task.
    initialRect: { width: window.innerWidth, height: window.innerHeight },
    measureElement: (element: HTMLElement, entry, instance) => {
      if (entry) return measureElement(element, entry, instance)
      const index = instance.indexFromElement(element)
      return instance.measurementsCache[index]?.size ?? options.estimateSize(index)
    },
    scrollToFn: (to, how, instance) => {
      if (to + (how.adjustments ?? 0) !== instance.scrollOffset) windowScroll(to, how, instance)
    },
  })
  return { virtual, offset }
}

/** Distance of an element from the top of the page; it moves when what stands above grows. */
function useOffsetTop(ref: { current: HTMLElement | null }): number {
  const [offset, setOffset] = useState(0)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (ref.current) setOffset(Math.round(ref.current.getBoundingClientRect().top + window.scrollY))
    })
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [ref])
  return offset
}
