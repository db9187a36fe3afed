import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { IconArrowRight } from '@tabler/icons-react'
import { openMigrationsQuery } from '@/api/migrations'
import { StageBadge } from '@/components/migrations/StageBadge'
import { Unread } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Ago } from '@/components/ui/Time'
import { KINDS } from '@/domain/migrations'
import { plural } from '@/lib/format'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { waitingForPeople, whyWaiting } from './waiting'
import classes from './attention.module.css'

const MOST = 5

/** Migrations that require action; nothing at all when none does. */
export function MigrationsWaiting() {
  const query = useQuery({ ...openMigrationsQuery, refetchInterval: usePollInterval() })
  if (!query.data) return <Unread query={query} what="open migrations" />
  const waiting = waitingForPeople(query.data)
  if (waiting.length === 0) return null
  return (
    <Panel title="Migrations that require action" note={plural(waiting.length, 'migration')} flush>
      <ul className={classes.list}>
        {waiting.slice(0, MOST).map((migration) => (
          <li key={migration.id} className={classes.item}>
            <span className={classes.phase}>
              <StageBadge stage={migration.stage} />
            </span>
            <div className={classes.words}>
              <Link
                to="/migrations/$id"
                params={{ id: migration.id }}
                className={classes.name}
                preload={false}
              >
                {migration.pipeline}
              </Link>
              <span className={classes.reason}>
                {KINDS[migration.kind].label}, requested by {migration.created_by}. {whyWaiting(migration)}
              </span>
            </div>
            <span className={classes.since}>
              <Ago at={migration.stage_since} />
            </span>
            <Link
              to="/migrations/$id"
              params={{ id: migration.id }}
              className={classes.open}
              aria-label={`Open the migration of ${migration.pipeline}`}
              preload={false}
            >
              Open
              <IconArrowRight size={14} aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
      {waiting.length > MOST && (
        <Link to="/migrations" search={{ state: 'open' }} className={classes.more}>
          Show all {waiting.length}
        </Link>
      )}
    </Panel>
  )
}
