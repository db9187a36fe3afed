import { useLayoutEffect, useState } from 'react'

/** Distance of an element from the top of the page; it moves when what stands above grows. */
export function useOffsetTop(ref: { current: HTMLElement | null }): number {
  const [offset, setOffset] = useState(0)
  useLayoutEffect(() => {
    const measure = () => {
      if (ref.current) setOffset(Math.round(ref.current.getBoundingClientRect().top + window.scrollY))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [ref])
  return offset
}
