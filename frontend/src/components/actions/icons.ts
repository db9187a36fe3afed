import {
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  IconSkull,
  IconPlayerTrackNext,
  type Icon,
} from '@tabler/icons-react'
import type { ActionKind } from '@/api/types'

export const ACTION_ICONS: Record<ActionKind, Icon> = {
  start: IconPlayerPlay,
  pause: IconPlayerPause,
  resume: IconPlayerTrackNext,
  stop: IconPlayerStop,
  'force-stop': IconSkull,
  restart: IconRefresh,
}
