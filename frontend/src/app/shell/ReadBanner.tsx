import { Button } from '@mantine/core'
import { IconAlertCircle, IconRefresh } from '@tabler/icons-react'
import { useQueryClient, type Query } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { explain, Problem } from '@/api/problem'
import { useClockTime } from '@/components/ui/Time'
import { atServer } from '@/lib/clock'
import { useBadge } from '@/lib/live/LiveProvider'
import { useShownErrors } from '@/lib/shownErrors'
import { plural } from '@/lib/format'
import classes from '@/components/ui/feedback.module.css'

/** Says what the page could not read and shows nowhere else, so that what is missing is not taken for nothing, and what is old for new. */
export function ReadBanner() {
  const shown = useShownErrors()
  const failed = useFailedReads().filter(({ state }) => !shown.has(state.error))
  const { state } = useBadge()
  const clock = useClockTime()
  const [first] = failed
  if (!first || state === 'stale') return null
  const { text, hint } = explain(first.state.error)
  const since = oldest(failed)
  return (
    <div className={classes.banner} role="alert" data-tone="warn">
      <IconAlertCircle size={18} aria-hidden />
      <span className={classes.words}>
        <strong>{plural(failed.length, 'part')} of this page could not be read.</strong> {text} {hint}
        {since !== null && ` What is shown of it is from ${clock(since)}.`}
      </span>
      <Button
        variant="default"
        leftSection={<IconRefresh size={14} aria-hidden />}
        onClick={() => failed.forEach((query) => void query.fetch().catch(() => {}))}
      >
        Try again
      </Button>
    </div>
  )
}

/** When the oldest of the figures that are shown was read; null where none is shown. */
function oldest(failed: Query[]): number | null {
  const read = failed.filter(({ state }) => state.data !== undefined)
  return read.length > 0 ? atServer(Math.min(...read.map(({ state }) => state.dataUpdatedAt))) : null
}

/** The queries of the page whose last request failed. A refusal is an answer, and a database that is away has its own banner. */
function useFailedReads(): Query[] {
  const cache = useQueryClient().getQueryCache()
  const failed = () => cache.findAll({ type: 'active', predicate: hasFailed })
  const subscribe = useCallback((listener: () => void) => cache.subscribe(listener), [cache])
  useSyncExternalStore(subscribe, () =>
    failed()
      .map(({ queryHash, state }) => `${queryHash} ${state.errorUpdateCount}`)
      .join(),
  )
  return failed()
}

function hasFailed({ state: { status, error } }: Query): boolean {
  if (status !== 'error') return false
  return !(error instanceof Problem) || (error.status >= 500 && !error.databaseAway)
}
