import { useState, type ReactNode } from 'react'
import type { Problem } from '@/api/problem'
import type { ChangeBody } from '@/api/types'
import { GovernedDialog } from './GovernedDialog'

export type Change = Required<Pick<ChangeBody, 'kind' | 'arguments'>>

/** For buttons without a dialog of their own: `ask` opens the way to other users for a change that is governed, in `dialog`. */
export function useGovernedDialog(name: string): {
  ask: (change: Change, refusal: Problem) => void
  dialog: ReactNode
} {
  const [asked, setAsked] = useState<{ change: Change; refusal: Problem } | null>(null)
  return {
    ask: (change, refusal) => setAsked({ change, refusal }),
    dialog: asked && (
      <GovernedDialog name={name} {...asked.change} refusal={asked.refusal} onClose={() => setAsked(null)} />
    ),
  }
}
