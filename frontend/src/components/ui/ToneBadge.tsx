import type { Icon } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { Tone } from '@/domain/phases'
import classes from './badge.module.css'

interface ToneBadgeProps {
  tone: Tone
  icon: Icon
  children: ReactNode
  title?: string
  plain?: boolean
}

/** A fact with its tone; the icon and the word carry the meaning, the colour repeats it. */
export function ToneBadge({ tone, icon: Shape, children, title, plain = false }: ToneBadgeProps) {
  return (
    <span className={classes.badge} data-tone={tone} data-plain={plain || undefined} title={title}>
      <Shape size={14} stroke={2} aria-hidden />
      {children}
    </span>
  )
}
