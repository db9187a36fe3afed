import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { ledgerTotalsQuery } from '@/api/ledger'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { FlowPanel } from '../flow/FlowPanel'
import { Batches } from './Batches'
import { Summary } from './Summary'
import classes from '../pipeline.module.css'

/** What was read and what became of it: in all, by component, batch by batch. */
export function LedgerTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const every = usePollInterval() / 3
  const query = useQuery({ ...ledgerTotalsQuery(name), refetchInterval: every })
  const { data: ledgerTotals, error, refetch } = query
  return (
    <div className={classes.stack}>
      {error && !ledgerTotals && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!ledgerTotals && !error && <Loading />}
      <StaleFigures query={query} every={every} />
      {ledgerTotals && <Summary name={name} ledgerTotals={ledgerTotals} />}
      <FlowPanel key={name} name={name} />
      <Batches name={name} channels={ledgerTotals?.channels.map(({ channel }) => channel) ?? []} />
    </div>
  )
}
