import { IconPlugConnectedX } from '@tabler/icons-react'
import { useClockTime } from '@/components/ui/Time'
import { useBadge } from '@/lib/live/LiveProvider'
import classes from '@/components/ui/feedback.module.css'

/** Says that nothing on the page is current, for as long as the server is silent. */
export function ServerBanner() {
  const { state, lastMessageAt } = useBadge()
  const clock = useClockTime()
  if (state !== 'stale') return null
  return (
    <div className={classes.banner} role="alert" data-tone="bad">
      <IconPlugConnectedX size={18} aria-hidden />
      <span>
        <strong>The server does not answer.</strong> Figures on this page are from {clock(lastMessageAt)} or
        earlier. Agents continue. The page tries again by itself; what you entered is kept.
      </span>
    </div>
  )
}
