import { IconClockExclamation } from '@tabler/icons-react'
import type { Pipeline } from '@/api/types'
import { Moment } from '@/components/ui/Time'
import { freshness } from '@/domain/freshness'
import { useNow } from '@/lib/clock'
import classes from './pipeline.module.css'

/** Over everything that comes from the agent, in each tab, while nothing is heard of it: the ledger is read from its
 * journal, so that what it has done since is in no figure. */
export function SilentAgent({ pipeline }: { pipeline: Pipeline }) {
  const { stale } = freshness(pipeline, useNow())
  if (!stale) return null
  return (
    <p className={classes.silent} role="status">
      <IconClockExclamation size={16} aria-hidden />
      <span>
        No report from the agent since <Moment at={pipeline.live.as_of} />. What it has done since is not in
        the figures, charts and ledger of this pipeline.
      </span>
    </p>
  )
}
