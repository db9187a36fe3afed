import { Tooltip } from '@mantine/core'
import { IconClockExclamation } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { duration } from '@/lib/format'
import type { Freshness } from '@/domain/freshness'
import classes from './stat.module.css'

interface StatProps {
  label: string
  value: ReactNode
  unit?: string
  detail?: ReactNode
  fresh?: Freshness
}

/** One figure with its name, its unit and, where it is old, its age. */
export function Stat({ label, value, unit, detail, fresh }: StatProps) {
  return (
    <div className={classes.stat}>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value} data-stale={fresh?.stale || undefined}>
        <span className={classes.figure}>
          {value}
          {unit && <span className={classes.unit}>{unit}</span>}
        </span>
        <span className={classes.detail}>{fresh?.stale ? <StaleMark fresh={fresh} /> : detail}</span>
      </dd>
    </div>
  )
}

/** Marks a figure that is no longer current. */
export function StaleMark({ fresh, compact = false }: { fresh: Freshness; compact?: boolean }) {
  if (!fresh.stale) return null
  const text = `${duration(Math.round((fresh.ageMs ?? 0) / 1_000) * 1_000)} old`
  return (
    <Tooltip label={`No newer report: this figure is ${text}.`}>
      <span className={classes.stale}>
        <IconClockExclamation size={13} aria-hidden />
        <span className={compact ? 'visually-hidden' : undefined}>{text}</span>
      </span>
    </Tooltip>
  )
}
