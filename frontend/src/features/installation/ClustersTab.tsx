import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { IconPlus } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { clustersQuery, deleteCluster } from '@/api/clusters'
import { keys } from '@/api/keys'
import type { Cluster } from '@/api/types'
import { RemovalDialog } from '@/components/actions/RemovalDialog'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { deleteClusterCall } from '@/domain/installationCalls'
import { cannotAdministerAll } from '@/domain/roles'
import { useBarred } from '@/lib/session'
import { ClusterDialog } from './ClusterDialog'
import { ConnectionDialog } from './ConnectionDialog'
import classes from './installation.module.css'

type Asked = { kind: 'define' } | { kind: 'change' | 'delete' | 'test'; cluster: Cluster }

/** The Spark clusters that definitions can name, with who uses them. */
export function ClustersTab() {
  const { data, error, refetch } = useQuery(clustersQuery)
  const refused = useBarred(cannotAdministerAll)
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = () => setAsked(null)
  return (
    <Panel
      title="Spark clusters"
      note="pipelines take a change at their next start"
      flush
      actions={
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          reason={refused}
          onClick={() => setAsked({ kind: 'define' })}
        >
          Define cluster
        </ReasonButton>
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && (
        <Empty title="No clusters">
          Without a cluster, Spark runs inside the agent. Define one to run executors on a cluster that
          exists.
        </Empty>
      )}
      {data && data.length > 0 && <ClusterTable clusters={data} refused={refused} onAsk={setAsked} />}
      {(asked?.kind === 'define' || asked?.kind === 'change') && (
        <ClusterDialog cluster={asked.kind === 'change' ? asked.cluster : null} onClose={close} />
      )}
      {asked?.kind === 'test' && (
        <ConnectionDialog cluster={asked.cluster.name} refused={refused} onClose={close} />
      )}
      {asked?.kind === 'delete' && <DeleteDialog cluster={asked.cluster} onClose={close} />}
    </Panel>
  )
}

interface ClusterTableProps {
  clusters: Cluster[]
  refused: string | null
  onAsk: (asked: Asked) => void
}

function ClusterTable({ clusters, refused, onAsk }: ClusterTableProps) {
  return (
    <Table
      label="Spark clusters"
      head={
        <>
          <th>Name</th>
          <th>Master</th>
          <th>Used by</th>
          <th className={classes.wide}>Changed</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </>
      }
    >
      {clusters.map((cluster) => (
        <tr key={cluster.name}>
          <th scope="row">
            {cluster.name}
            <div className="dim">
              version {cluster.version}, {cluster.team ? `team ${cluster.team}` : 'all teams'}
            </div>
          </th>
          <td className={`mono ${classes.value}`}>{String(cluster.spec.master ?? '')}</td>
          <td>
            <Users cluster={cluster} />
          </td>
          <td className={classes.wide}>
            <Moment at={cluster.updated_at} /> <span className="dim">by {cluster.updated_by}</span>
          </td>
          <td>
            <ClusterActions cluster={cluster} refused={refused} onAsk={onAsk} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** The pipelines placed on it; `pending` ones run on an earlier version until their next start. */
function Users({ cluster: { used_by: users, pending } }: { cluster: Cluster }) {
  if (users.length === 0) return <span className="dim">no pipeline</span>
  return (
    <>
      {users.map((name) => (
        <div key={name}>
          <Link to="/pipelines/$name" params={{ name }}>
            {name}
          </Link>
          {pending.includes(name) && <span className="dim"> runs on an earlier version</span>}
        </div>
      ))}
    </>
  )
}

function ClusterActions({
  cluster,
  refused,
  onAsk,
}: { cluster: Cluster } & Omit<ClusterTableProps, 'clusters'>) {
  const used = cluster.used_by.length > 0 ? 'Pipelines are placed on it.' : null
  return (
    <div className={classes.filters}>
      <Button
        variant="default"
        size="compact-xs"
        aria-label={`Connection to ${cluster.name}`}
        onClick={() => onAsk({ kind: 'test', cluster })}
      >
        Connection
      </Button>
      {!refused && (
        <>
          <Button
            variant="default"
            size="compact-xs"
            aria-label={`Change ${cluster.name}`}
            onClick={() => onAsk({ kind: 'change', cluster })}
          >
            Change
          </Button>
          <ReasonButton
            variant="default"
            size="compact-xs"
            aria-label={`Delete ${cluster.name}`}
            reason={used}
            onClick={() => onAsk({ kind: 'delete', cluster })}
          >
            Delete
          </ReasonButton>
        </>
      )}
    </div>
  )
}

function DeleteDialog({ cluster: { name }, onClose }: { cluster: Cluster; onClose: () => void }) {
  return (
    <RemovalDialog
      title={`Delete cluster ${name}?`}
      words={`Definitions can no longer name ${name}. The cluster itself stays as it is.`}
      button="Delete cluster"
      call={deleteClusterCall(name)}
      remove={() => deleteCluster(name)}
      queryKey={keys.clusters}
      done={`${name} is deleted.`}
      onClose={onClose}
    />
  )
}
