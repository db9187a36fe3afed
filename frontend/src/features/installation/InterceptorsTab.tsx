import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { interceptorClassesQuery } from '@/api/installation'
import type { InterceptorClass } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'

/** The registry of Python interceptors, and classes that pipelines name without it. */
export function InterceptorsTab() {
  const { data, error, refetch } = useQuery(interceptorClassesQuery)
  return (
    <Panel
      title="Python interceptors"
      note="as registered at the web server; the registries of workers count for runs"
      flush
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && (
        <Empty title="No classes">
          Install a package with an entry point of the group headgate.interceptors, or name classes in
          HEADGATE_INTERCEPTORS.{' '}
          <a href="/docs/guides/python-interceptors/" target="_blank" rel="noreferrer">
            Documentation<span className="visually-hidden"> (opens in a new tab)</span>
          </a>
        </Empty>
      )}
      {data && data.length > 0 && (
        <Table
          label="Python interceptors"
          head={
            <>
              <th>Class</th>
              <th>State</th>
              <th>From</th>
              <th>Used by</th>
            </>
          }
        >
          {data.map((each) => (
            <ClassRow key={each.name} found={each} />
          ))}
        </Table>
      )}
    </Panel>
  )
}

function ClassRow({
  found: { name, registered, listed, package: of, version, used_by: users },
}: {
  found: InterceptorClass
}) {
  return (
    <tr>
      <th scope="row" className="mono">
        {name}
      </th>
      <td>
        {registered ? (
          <ToneBadge tone="ok" icon={IconCheck}>
            Registered
          </ToneBadge>
        ) : (
          <>
            <ToneBadge tone="warn" icon={IconAlertTriangle}>
              Not registered
            </ToneBadge>
            <div className="dim">Check HEADGATE_INTERCEPTORS of the workers.</div>
          </>
        )}
      </td>
      <td>
        {of ? `${of} ${version}` : null}
        {of && listed ? ', ' : null}
        {listed ? 'HEADGATE_INTERCEPTORS' : null}
        {!of && !listed ? '-' : null}
      </td>
      <td>
        {users.length === 0 && <span className="dim">no pipeline</span>}
        {users.map((user) => (
          <div key={user}>
            <Link to="/pipelines/$name" params={{ name: user }}>
              {user}
            </Link>
          </div>
        ))}
      </td>
    </tr>
  )
}
