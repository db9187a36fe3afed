import { Moment } from '@/components/ui/Time'
import classes from './pipeline.module.css'

/** Over figures that could not be read again. */
export function StaleFigures({ until }: { until: string }) {
  return (
    <p className={classes.staleFigures} role="status">
      These figures end at <Moment at={until} />. The server does not answer now.
    </p>
  )
}
