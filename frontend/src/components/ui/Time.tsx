import { ago } from '@/lib/format'
import { useNow } from '@/lib/clock'
import { useTimeZone } from '@/lib/preferences'
import { clockTime, fullTime, shortTime } from '@/lib/time'

/** A moment: its clock time (with the date when it was another day), the full time on hover. */
export function Moment({ at }: { at: string | null | undefined }) {
  const zone = useTimeZone()
  const now = useNow()
  if (!at) return <span className="dim">–</span>
  return (
    <time dateTime={at} title={fullTime(at, zone)}>
      {shortTime(at, zone, now)}
    </time>
  )
}

/** How long ago, refreshed once a second, the full time on hover. */
export function Ago({ at }: { at: string | null | undefined }) {
  const zone = useTimeZone()
  const now = useNow()
  if (!at) return <span className="dim">–</span>
  return (
    <time dateTime={at} title={fullTime(at, zone)}>
      {ago(at, now)}
    </time>
  )
}

export function useClockTime(): (at: string | number | null | undefined) => string {
  const zone = useTimeZone()
  return (at) => clockTime(at, zone)
}

export function useShortTime(): (at: string | null | undefined) => string {
  const zone = useTimeZone()
  const now = useNow()
  return (at) => shortTime(at, zone, now)
}
