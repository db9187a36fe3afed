import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { auditQuery, type AuditFilter } from '@/api/audit'
import { sessionQuery } from '@/api/session'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { auditCall } from '@/domain/calls'
import { cannotReadAudit } from '@/domain/roles'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { AuditRows } from './AuditRows'
import { ChainState } from './ChainState'
import { ExportButtons } from './ExportButtons'
import { Filters } from './Filters'
import classes from './audit.module.css'

/** Who asked for what, from where, and what was before and after. */
export function AuditPage() {
  const { data: session } = useQuery(sessionQuery)
  const hidden = cannotReadAudit(session)
  const filter = useSearch({ from: '/audit' })
  const navigate = useNavigate({ from: '/audit' })
  return (
    <div className={classes.page}>
      <PageHeader
        title="Audit"
        beside={<span className="dim">who did what, newest first</span>}
        actions={!hidden && <ExportButtons filter={filter} session={session} />}
      />
      {hidden && <Empty title="Your role cannot read the audit">{hidden}</Empty>}
      {session && !hidden && (
        <>
          <ChainState />
          <Filters filter={filter} onChange={(search) => void navigate({ search, replace: true })} />
          <AuditList filter={filter} />
          <ShowCall call={auditCall(filter)} subject="Audit" />
        </>
      )}
    </div>
  )
}

export function AuditList({ filter }: { filter: AuditFilter }) {
  const query = useInfiniteQuery({ ...auditQuery(filter), refetchInterval: usePollInterval() })
  const rows = query.data?.pages.flatMap(({ results }) => results) ?? []
  const narrowed = Object.values(filter).some((value) => value !== undefined)
  return (
    <Panel title="Requests" flush>
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading rows={8} />}
      {query.data && rows.length === 0 && (
        <Empty title={narrowed ? 'No rows match' : 'No rows yet'}>
          {narrowed
            ? 'Clear a filter, or choose a longer time.'
            : 'Each change, log-in and refusal is recorded here with its user, its address, and what was before and after.'}
        </Empty>
      )}
      {rows.length > 0 && <AuditRows rows={rows} />}
      <LoadMore query={query} />
    </Panel>
  )
}
