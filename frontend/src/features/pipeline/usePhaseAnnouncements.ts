import { useEffect, useRef } from 'react'
import type { Pipeline } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { PHASES } from '@/domain/phases'

/** Tells screen readers of every change of phase, and not of the first one seen. */
export function usePhaseAnnouncements(pipeline: Pipeline | undefined): void {
  const before = useRef<string | null>(null)
  const phase = pipeline?.phase
  const name = pipeline?.name
  useEffect(() => {
    if (!phase || !name) return
    const key = `${name} ${phase}`
    if (before.current?.startsWith(`${name} `) && before.current !== key) {
      announce(`${name} is now ${PHASES[phase].label.toLowerCase()}.`)
    }
    before.current = key
  }, [name, phase])
}
