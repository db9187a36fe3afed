import {
  IconAlertTriangle,
  IconCircleX,
  IconClipboardCheck,
  IconHandStop,
  IconHelpCircle,
  IconHourglassEmpty,
  IconPlayerPause,
  IconPlayerPauseFilled,
  IconPlayerPlayFilled,
  IconPlayerStop,
  IconPlayerStopFilled,
  IconProgress,
  IconRotateClockwise,
  type Icon,
} from '@tabler/icons-react'
import type { Phase } from '@/api/types'
import { PHASES } from '@/domain/phases'
import classes from './badge.module.css'

const ICONS: Record<Phase, Icon> = {
  STOPPED: IconPlayerStopFilled,
  PREFLIGHT: IconClipboardCheck,
  STARTING: IconProgress,
  RUNNING: IconPlayerPlayFilled,
  DEGRADED: IconAlertTriangle,
  STALLED: IconHourglassEmpty,
  PAUSING: IconPlayerPause,
  PAUSED: IconPlayerPauseFilled,
  STOPPING: IconPlayerStop,
  BACKOFF: IconRotateClockwise,
  BLOCKED: IconHandStop,
  FAILED: IconCircleX,
  UNKNOWN: IconHelpCircle,
}

export function PhaseIcon({ phase, size = 14 }: { phase: Phase; size?: number }) {
  const Shape = ICONS[phase]
  return <Shape size={size} stroke={2} aria-hidden />
}

/** The observed phase: an icon and a word on a tone. */
export function PhaseBadge({ phase, large = false }: { phase: Phase; large?: boolean }) {
  const { label, tone, meaning } = PHASES[phase]
  return (
    <span
      className={classes.badge}
      data-tone={tone}
      data-large={large || undefined}
      data-testid={large ? 'phase' : undefined}
      title={meaning}
    >
      <PhaseIcon phase={phase} size={large ? 16 : 13} />
      {label}
    </span>
  )
}
