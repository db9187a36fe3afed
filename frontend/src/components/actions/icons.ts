import {
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  IconPlayerTrackNext,
  type Icon,
} from '@tabler/icons-react'
import type { OperationKind } from '@/api/types'

export const ACTION_ICONS: Record<OperationKind, Icon> = {
  start: IconPlayerPlay,
  pause: IconPlayerPause,
  resume: IconPlayerTrackNext,
  stop: IconPlayerStop,
  restart: IconRefresh,
}
