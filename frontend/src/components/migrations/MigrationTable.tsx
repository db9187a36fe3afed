import { Link } from '@tanstack/react-router'
import type { Migration } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { durationOf, KINDS, movement } from '@/domain/migrations'
import { useNow } from '@/lib/clock'
import { StageBadge } from './StageBadge'
import classes from './migrations.module.css'

/** Migrations with their state, owner and duration; each leads to the page that it is at. */
export function MigrationTable({ migrations, label }: { migrations: Migration[]; label: string }) {
  const now = useNow()
  return (
    <Table
      label={label}
      head={
        <>
          <th>Migration</th>
          <th>Pipeline</th>
          <th>State</th>
          <th>Owner</th>
          <th className={classes.wide}>Requested</th>
          <th className="num">Duration</th>
          <th className={classes.wide}>Reason</th>
        </>
      }
    >
      {migrations.map((migration) => (
        <tr key={migration.id}>
          <th scope="row">
            <Link
              to="/migrations/$id"
              params={{ id: migration.id }}
              aria-label={`${KINDS[migration.kind].label} of ${migration.pipeline}, requested by ${migration.created_by}`}
              preload={false}
            >
              {KINDS[migration.kind].label}
            </Link>
            <div className="dim">{movement(migration)}</div>
          </th>
          <td>
            <Link to="/pipelines/$name" params={{ name: migration.pipeline }} preload={false}>
              {migration.pipeline}
            </Link>
          </td>
          <td>
            <StageBadge stage={migration.stage} />
            {migration.waits_for && <div className="dim">Awaiting approval</div>}
          </td>
          <td>{migration.created_by}</td>
          <td className={classes.wide}>
            <Moment at={migration.created_at} />
          </td>
          <td className="num">{durationOf(migration, now)}</td>
          <td className={classes.wide}>{migration.reason}</td>
        </tr>
      ))}
    </Table>
  )
}
