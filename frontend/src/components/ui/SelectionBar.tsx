import { CloseButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { plural } from '@/lib/format'
import classes from './selection.module.css'

interface SelectionBarProps {
  count: number
  /** What is selected, of one. */
  noun: string
  onClear: () => void
  children: ReactNode
}

/** Stands at the foot of the window while rows are selected, with what can be done with them. */
export function SelectionBar({ count, noun, onClear, children }: SelectionBarProps) {
  if (count === 0) return null
  return (
    <div className={classes.bar} role="region" aria-label={`Actions for the selected ${noun}s`}>
      <strong>{plural(count, noun)} selected</strong>
      {children}
      <CloseButton aria-label="Clear selection" onClick={onClear} />
    </div>
  )
}
