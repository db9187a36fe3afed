import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { auditRowQuery } from '@/api/audit'
import { Problem } from '@/api/problem'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { Moment } from '@/components/ui/Time'
import { auditRowCall } from '@/domain/calls'
import { AuditDetails } from './AuditRows'
import classes from './audit.module.css'

/** One row of the audit, at an address that can be shared. */
export function AuditRowPage() {
  const { id } = useParams({ from: '/audit/$id' })
  return <AuditRow id={Number(id)} />
}

export function AuditRow({ id }: { id: number }) {
  const { data: row, error, refetch } = useQuery(auditRowQuery(id))
  const missing = error instanceof Problem && error.status === 404
  return (
    <div className={classes.page}>
      <PageHeader title={`Audit row ${id}`} beside={<Link to="/audit">All rows</Link>} />
      {missing && (
        <Empty title="There is no such row">
          It does not exist, or it is about a team in which you are no operator.
        </Empty>
      )}
      {error && !row && !missing && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!row && !error && <Loading rows={4} />}
      {row && (
        <Panel
          title={`${row.actor || 'Unknown user'}: ${row.action}${row.object && ` ${row.object}`}`}
          note={<Moment at={row.at} />}
          flush
        >
          <AuditDetails row={row} />
        </Panel>
      )}
      {row && <ShowCall call={auditRowCall(id)} subject={`Audit row ${id}`} />}
    </div>
  )
}
