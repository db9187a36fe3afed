import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { migrationsQuery } from '@/api/migrations'
import { KINDS, STAGES } from '@/domain/migrations'
import { StageBadge } from '@/components/migrations/StageBadge'
import { usePollInterval } from '@/lib/live/LiveProvider'
import classes from './pipeline.module.css'

export const useOpenMigration = (name: string) =>
  useInfiniteQuery({
    ...migrationsQuery({ pipeline: name, state: 'open' }),
    refetchInterval: usePollInterval(),
  })

/** The pipeline's open migration, with the way to its page. */
export function MigrationNote({ name }: { name: string }) {
  const { data } = useOpenMigration(name)
  const open = data?.pages[0]?.results[0]
  if (!open) return null
  const { id, kind, stage, created_by, message, waits_for } = open
  return (
    <section className={classes.migration} aria-label="Open migration">
      <StageBadge stage={stage} />
      <span>
        {created_by}&apos;s migration ({KINDS[kind].label.toLowerCase()}):{' '}
        {waits_for ? 'Awaiting approval.' : message || STAGES[stage].meaning}
      </span>
      <Link to="/migrations/$id" params={{ id }} preload={false}>
        Open migration
      </Link>
    </section>
  )
}
