import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { eventsQuery } from '@/api/events'
import type { HeadgateEvent } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Moment } from '@/components/ui/Time'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { eventFilter, type EventSearch } from './categories'
import { describeEvent } from './kinds'
import classes from './events.module.css'

interface EventListProps {
  pipeline?: string
  search: EventSearch
  onClear: () => void
}

/** What happened, newest first: to one pipeline, or to all of them. */
export function EventList({ pipeline, search, onClear }: EventListProps) {
  const wanted = eventsQuery(pipeline, eventFilter(search))
  const query = useInfiniteQuery({ ...wanted, refetchInterval: usePollInterval() })
  const narrowed = Boolean(search.category ?? search.kind)
  const events = query.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading rows={8} />}
      {query.data && events.length === 0 && !narrowed && <Empty title="No events yet" />}
      {query.data && events.length === 0 && narrowed && (
        <Empty title="No events match">
          <Button variant="default" onClick={onClear}>
            Show every kind
          </Button>
        </Empty>
      )}
      <ol className={classes.list}>
        {events.map((event) => (
          <EventRow key={event.id} event={event} withName={!pipeline} />
        ))}
      </ol>
      <LoadMore query={query} />
    </>
  )
}

/** What Headgate did by itself needs no actor. */
const SYSTEM = 'system'

function EventRow({ event, withName }: { event: HeadgateEvent; withName: boolean }) {
  const { icon: Shape, tone, word } = describeEvent(event)
  return (
    <li className={classes.event} data-tone={tone}>
      <span className={classes.time}>
        <Moment at={event.at} />
      </span>
      <span className={classes.mark}>
        <Shape size={15} stroke={2} aria-hidden />
      </span>
      <span className={classes.kind}>{word}</span>
      <span className={classes.message}>
        {withName && event.pipeline && (
          <Link
            to="/pipelines/$name"
            params={{ name: event.pipeline }}
            className={classes.name}
            preload={false}
          >
            {event.pipeline}
          </Link>
        )}
        {event.message}
        {typeof event.data.migration === 'string' && (
          <Link
            to="/migrations/$id"
            params={{ id: event.data.migration }}
            className={classes.more}
            aria-label={`Show migration: ${event.message}`}
            preload={false}
          >
            Show migration
          </Link>
        )}
      </span>
      <span className={classes.actor}>
        {event.actor !== SYSTEM && `by ${event.actor}`}
        {event.run !== null && `run ${event.run}`}
      </span>
    </li>
  )
}
