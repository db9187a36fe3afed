import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { booksQuery } from '@/api/ledger'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { Batches } from './Batches'
import { Positions } from './Positions'
import { Summary } from './Summary'
import classes from '../pipeline.module.css'

/** What was read and what became of it: in all, by position, batch by batch. */
export function BooksTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const {
    data: books,
    error,
    refetch,
  } = useQuery({ ...booksQuery(name), refetchInterval: usePollInterval() / 3 })
  return (
    <div className={classes.stack}>
      {error && !books && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!books && !error && <Loading />}
      {books && <Summary name={name} books={books} />}
      <Batches name={name} channels={books?.channels.map(({ channel }) => channel) ?? []} />
      {books && <Positions positions={books.positions} />}
    </div>
  )
}
