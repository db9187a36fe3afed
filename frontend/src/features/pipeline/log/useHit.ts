import { useEffect, useState, type RefObject } from 'react'
import type { Hit } from './buffer'

export interface CurrentHit {
  current: Hit | null
  /** Counted from one, 0 without any. */
  place: number
  step: (by: 1 | -1) => void
}

/** The match that is looked at; stepping goes on at the other end, and brings it into view. */
export function useHit(hits: Hit[], box: RefObject<HTMLElement | null>): CurrentHit {
  const [chosen, setChosen] = useState<Hit | null>(null)
  const index = chosen
    ? hits.findIndex(({ line, start }) => line === chosen.line && start === chosen.start)
    : -1
  useEffect(() => {
    if (chosen) box.current?.querySelector('mark[data-current]')?.scrollIntoView({ block: 'center' })
  }, [chosen, box])
  const step = (by: 1 | -1) => {
    const from = index === -1 ? (by === 1 ? -1 : 0) : index
    setChosen(hits[(from + by + hits.length) % hits.length] ?? null)
  }
  return { current: hits[index] ?? null, place: index + 1, step }
}
