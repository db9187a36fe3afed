import { Select } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { deadLettersQuery, deadLettersSummaryQuery } from '@/api/deadLetters'
import type { DeadLettersSummary } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { QuarantinePanel } from '../quarantine/QuarantinePanel'
import { Causes } from './Causes'
import { DeadLetterDrawer } from './DeadLetterDrawer'
import { DeadLetterTable } from './DeadLetterTable'
import { ReplayDialog } from './ReplayDialog'
import classes from '../pipeline.module.css'

const STATES = [
  { value: 'NEW', label: 'New' },
  { value: 'RETRIED', label: 'Retried' },
  { value: 'DISCARDED', label: 'Discarded' },
]

/** Events that could not be processed: why, which, and what to do with them. */
export function DeadLettersTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const filter = useSearch({ from: '/pipelines/$name/dead-letters' })
  const navigate = useNavigate({ from: '/pipelines/$name/dead-letters' })
  const poll = usePollInterval() / 3
  const readOnly = useReadOnly(name)
  const summary = useQuery({ ...deadLettersSummaryQuery(name), refetchInterval: poll })
  const query = useInfiniteQuery({ ...deadLettersQuery(name, filter), refetchInterval: poll })
  const [shown, setShown] = useState<string | null>(null)
  const [replaying, setReplaying] = useState(false)
  const deadLetters = query.data?.pages.flatMap(({ results }) => results) ?? []
  const narrow = (search: typeof filter) => void navigate({ search, replace: true, resetScroll: false })
  return (
    <div className={classes.stack}>
      {summary.data && summary.data.causes.length > 0 && (
        <Causes
          summary={summary.data}
          onChoose={({ component, cause }) => narrow({ component, cause, state: 'NEW' })}
        />
      )}
      <Panel
        title="Dead letters"
        note={noteOf(filter)}
        flush
        actions={
          <>
            <Select
              aria-label="State"
              placeholder="Every state"
              data={STATES}
              value={filter.state ?? null}
              clearable
              clearButtonProps={{ 'aria-label': 'Every state' }}
              onChange={(state) => narrow({ ...filter, state: (state as typeof filter.state) ?? undefined })}
            />
            {(filter.component || filter.cause) && (
              <ReasonButton variant="default" onClick={() => narrow({ state: filter.state })}>
                Every cause
              </ReasonButton>
            )}
            <ReasonButton reason={readOnly ?? nothingToRetry(summary)} onClick={() => setReplaying(true)}>
              {filter.component || filter.cause ? 'Retry selected' : 'Retry all new'}
            </ReasonButton>
          </>
        }
      >
        {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
        {query.isPending && <Loading />}
        {query.data && deadLetters.length === 0 && (
          <Empty title="No dead letters">
            Records that an interceptor, the selector or a sink cannot process are kept here, with the cause.
          </Empty>
        )}
        {deadLetters.length > 0 && <DeadLetterTable deadLetters={deadLetters} onShow={setShown} />}
        <LoadMore query={query} />
      </Panel>
      <QuarantinePanel name={name} readOnly={readOnly} />
      {shown && (
        <DeadLetterDrawer name={name} id={shown} readOnly={readOnly} onClose={() => setShown(null)} />
      )}
      {replaying && <ReplayDialog name={name} filter={filter} onClose={() => setReplaying(false)} />}
    </div>
  )
}

function nothingToRetry({ data, error }: { data?: DeadLettersSummary; error: unknown }): string | null {
  if (data) return data.new > 0 ? null : 'There are no new dead letters.'
  return error ? 'The number of new dead letters is unknown.' : 'The new dead letters are being counted.'
}

function noteOf({ component, cause }: { component?: string; cause?: string }): string {
  return [component, cause].filter(Boolean).join(': ') || 'newest first'
}
