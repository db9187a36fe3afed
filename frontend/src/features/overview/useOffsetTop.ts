import { useLayoutEffect, useState } from 'react'

/** Distance of an element from the top of the page; it moves when what stands above grows. It is measured once the page
 * is laid out: asked for earlier, it would make the browser do that within the task that draws the list. */
export function useOffsetTop(ref: { current: HTMLElement | null }): number {
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
