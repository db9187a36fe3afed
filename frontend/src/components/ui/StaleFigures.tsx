import { IconClockExclamation } from '@tabler/icons-react'
import { STALE_AFTER_MS } from '@/domain/freshness'
import { atServer, useNow } from '@/lib/clock'
import { useClockTime } from './Time'
import classes from './feedback.module.css'

/** What a query of the server cache says about its age. */
export interface Asked {
  data: unknown
  error: unknown
  dataUpdatedAt: number
}

interface StaleFiguresProps {
  query: Asked
  /** How often it is asked, in milliseconds; false where it is not asked again. */
  every: number | false
}

/** When figures that are asked for now and then were read, where they should have been read again since; else null. */
export function useStaleSince({ data, error, dataUpdatedAt }: Asked, every: number | false): number | null {
  const now = useNow()
  if (data === undefined || dataUpdatedAt === 0) return null
  const readAt = atServer(dataUpdatedAt)
  const late = every !== false && now - readAt > every + STALE_AFTER_MS
  return error || late ? readAt : null
}

/** Over figures that could not be read again, whether the server refuses, fails or is silent. */
export function StaleFigures({ query, every }: StaleFiguresProps) {
  const since = useStaleSince(query, every)
  const clock = useClockTime()
  if (since === null) return null
  return (
    <p className={classes.staleFigures} role="status">
      <IconClockExclamation size={14} aria-hidden /> These figures are from {clock(since)}. The server has not
      answered since.
    </p>
  )
}
