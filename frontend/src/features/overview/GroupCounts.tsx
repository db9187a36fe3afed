import type { Pipeline } from '@/api/types'
import { PhaseIcon } from '@/components/ui/PhaseBadge'
import { PHASES } from '@/domain/phases'
import { count } from '@/lib/format'
import { countPhases } from './filter'
import classes from './group.module.css'

/** How many pipelines of a group are in each phase. */
export function GroupCounts({ pipelines }: { pipelines: Pipeline[] }) {
  return (
    <span className={classes.counts}>
      {countPhases(pipelines).map(({ phase, count: n }) => (
        <span key={phase} className={classes.count} data-tone={PHASES[phase].tone}>
          <PhaseIcon phase={phase} size={12} />
          {count(n)} {PHASES[phase].label.toLowerCase()}
        </span>
      ))}
    </span>
  )
}
