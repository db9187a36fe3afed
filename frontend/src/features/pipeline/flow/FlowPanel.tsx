import { SegmentedControl } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useMemo } from 'react'
import { flowQuery } from '@/api/ledger'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { pollOf } from '../windows'
import { WindowSelect } from '../WindowSelect'
import { FlowDetails } from './FlowDetails'
import { FlowTable } from './FlowTable'
import { flowSentence, isFault, sharesOf, wayOf, waysOf } from './ways'
import classes from '../ledger/ledger.module.css'

const FlowGraph = lazy(() => import('./FlowGraph').then((module) => ({ default: module.FlowGraph })))

const VIEWS = [
  { value: 'graph', label: 'Graph' },
  { value: 'table', label: 'Table' },
]

/** What was read in a while and what became of it, as ribbons or as a table; each leads to its batches. */
export function FlowPanel({ name }: { name: string }) {
  const { minutes = 15, view, flow } = useSearch({ from: '/pipelines/$name/ledger' })
  const navigate = useNavigate({ from: '/pipelines/$name/ledger' })
  const narrow = useMediaQuery('(max-width: 899px)')
  const query = useQuery({
    ...flowQuery(name, minutes),
    refetchInterval: pollOf(minutes),
    placeholderData: (before, last) => (last?.queryKey[1] === name ? before : undefined),
  })
  const { data, error, refetch } = query
  const ways = useMemo(() => (data ? waysOf(data) : []), [data])
  const set = useCallback(
    (change: { minutes?: number; view?: 'graph' | 'table'; flow?: string }) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false }),
    [navigate],
  )
  const select = useCallback((key: string) => set({ flow: key }), [set])
  const shown = view ?? (narrow ? 'table' : 'graph')
  const chosen = flow && data ? wayOf(ways, flow) : null
  return (
    <Panel
      title="Flow"
      note="what was read, and what became of it"
      actions={
        <>
          <WindowSelect minutes={minutes} onChange={(value) => set({ minutes: value })} />
          <SegmentedControl
            aria-label="Shown as"
            data={VIEWS}
            value={shown}
            onChange={(value) => set({ view: value as 'graph' | 'table' })}
          />
        </>
      }
      flush
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={6} />}
      <StaleFigures query={query} every={pollOf(minutes)} />
      {data && ways.length === 0 && (
        <Empty title="No batch was finished in this time">Choose a longer time, or start the pipeline.</Empty>
      )}
      {ways.length > 0 && (
        <p
          className={classes.sentence}
          data-bad={ways.some(({ outcome }) => isFault(outcome)) || undefined}
          data-testid="flow"
        >
          {flowSentence(ways)}
        </p>
      )}
      {ways.length > 0 && shown === 'table' && <FlowTable ways={ways} onSelect={select} />}
      {ways.length > 0 && shown === 'graph' && (
        <Suspense fallback={<Loading rows={6} />}>
          <FlowGraph ways={ways} selected={flow} onSelect={select} />
        </Suspense>
      )}
      {chosen && (
        <FlowDetails
          name={name}
          way={chosen}
          share={sharesOf(ways)(chosen)}
          minutes={minutes}
          onClose={() => set({ flow: undefined })}
        />
      )}
    </Panel>
  )
}
