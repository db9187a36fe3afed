import type { PositionPlan } from '@/api/types'
import { count } from '@/lib/format'
import classes from './picker.module.css'

/** What a plan does, in sum. */
export function Sums({ plan }: { plan: PositionPlan }) {
  return (
    <dl className={classes.sums} aria-label="Expected impact">
      <Sum label="Skipped" value={plan.skip} bad={plan.skip > 0} />
      <Sum label="Reread" value={plan.replay} />
      <Sum label="Deleted from the log" value={plan.gone} />
      <Sum label="Possible duplicates" value={plan.possible_duplicates} />
    </dl>
  )
}

function Sum({ label, value, bad = false }: { label: string; value: number; bad?: boolean }) {
  return (
    <div data-bad={bad || undefined}>
      <dt>{label}</dt>
      <dd>{count(value)}</dd>
    </div>
  )
}
