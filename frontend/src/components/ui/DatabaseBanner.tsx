import { IconDatabaseOff } from '@tabler/icons-react'
import { useDatabaseAwaySince } from '@/api/database'
import { useClockTime } from './Time'
import classes from './feedback.module.css'

/** Says that the server answers and its database does not, for as long as that is so. */
export function DatabaseBanner() {
  const since = useDatabaseAwaySince()
  const clock = useClockTime()
  if (since === null) return null
  return (
    <div className={classes.banner} role="alert" data-tone="warn">
      <IconDatabaseOff size={18} aria-hidden />
      <span>
        <strong>The database is unavailable.</strong> Figures on this page are from {clock(since)} or earlier.
        Agents continue. The page tries again by itself; what you entered is kept.
      </span>
    </div>
  )
}
