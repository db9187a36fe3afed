import { Tooltip } from '@mantine/core'
import { IconAlertTriangle, IconBroadcast, IconRefresh, type Icon } from '@tabler/icons-react'
import { useClockTime } from '@/components/ui/Time'
import type { Tone } from '@/domain/phases'
import type { BadgeState } from '@/lib/live/badge'
import { useBadge } from '@/lib/live/LiveProvider'
import badge from '@/components/ui/badge.module.css'

const LOOKS: Record<BadgeState, { tone: Tone; icon: Icon; word: string; meaning: string }> = {
  live: { tone: 'ok', icon: IconBroadcast, word: 'Live', meaning: 'Changes appear as they happen.' },
  connecting: {
    tone: 'busy',
    icon: IconRefresh,
    word: 'Connecting',
    meaning: 'Opening the event stream.',
  },
  reconnecting: {
    tone: 'warn',
    icon: IconRefresh,
    word: 'Reconnecting',
    meaning:
      'The event stream was interrupted and is reconnecting. Until then the page polls every 3 seconds.',
  },
  stale: {
    tone: 'bad',
    icon: IconAlertTriangle,
    word: 'Stale since',
    meaning: 'The server does not respond. The data is from the time shown. The page keeps retrying.',
  },
  'no-database': {
    tone: 'bad',
    icon: IconAlertTriangle,
    word: 'Stale since',
    meaning: 'The database is unavailable. The data is from the time shown. The page keeps retrying.',
  },
}

/** Says whether what is on the screen is current. */
export function ConnectionBadge() {
  const { state, lastMessageAt } = useBadge()
  const clock = useClockTime()
  const { tone, icon: Shape, word, meaning } = LOOKS[state]
  return (
    <Tooltip label={meaning}>
      <span className={badge.badge} data-tone={tone} role="status" tabIndex={0}>
        <Shape size={13} stroke={2} aria-hidden />
        {word}
        {(state === 'stale' || state === 'no-database') && ` ${clock(lastMessageAt)}`}
      </span>
    </Tooltip>
  )
}
