import { useQuery } from '@tanstack/react-query'
import { IconAlertTriangle, IconCheck, IconPlugConnectedX } from '@tabler/icons-react'
import { hostsQuery } from '@/api/hosts'
import type { Host } from '@/api/types'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { bytes, count, plural } from '@/lib/format'
import { Drained, DrainButton } from './Draining'
import classes from './hosts.module.css'

const POLL_MS = 5_000

export function HostsPage() {
  const { data: hosts, error, refetch } = useQuery({ ...hostsQuery, refetchInterval: POLL_MS })
  return (
    <div className={classes.page}>
      <PageHeader
        title="Hosts"
        beside={hosts && <span className="dim">{plural(hosts.length, 'host')}</span>}
      />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!hosts && !error && <Loading />}
      {hosts && (
        <Panel title="Machines with a worker" flush>
          {hosts.length === 0 ? <NoHosts /> : <HostTable hosts={hosts} />}
        </Panel>
      )}
    </div>
  )
}

function NoHosts() {
  return (
    <Empty title="No worker has reported yet">
      <div className={classes.command}>
        <CodeBlock code=".venv/bin/python manage.py up" label="Start the stack" />
      </div>
    </Empty>
  )
}

function HostTable({ hosts }: { hosts: Host[] }) {
  return (
    <Table
      label="Hosts"
      head={
        <>
          <th>Name</th>
          <th>State</th>
          <th>Supervision</th>
          <th>Last heard</th>
          <th className="num">Agents</th>
          <th className="num">Cores</th>
          <th className="num">Memory</th>
          <th>Version</th>
          <th>State directory</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </>
      }
    >
      {hosts.map((host) => (
        <tr key={host.name}>
          <th scope="row">{host.name}</th>
          <td>
            <HostState state={host.state} /> <Drained host={host} />
          </td>
          <td>
            <Supervision supervised={host.supervised} />
          </td>
          <td>
            <Ago at={host.seen_at} />
          </td>
          <td className="num">
            {count(host.agents)}
            {host.slots !== null && <span className="dim"> of {count(host.slots)}</span>}
          </td>
          <td className="num">{count(host.cores)}</td>
          <td className="num">{bytes(host.memory_bytes)}</td>
          <td>{host.version}</td>
          <td className="mono">{host.state_dir}</td>
          <td>
            <DrainButton host={host} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function HostState({ state }: Pick<Host, 'state'>) {
  return state === 'UP' ? (
    <ToneBadge tone="ok" icon={IconCheck}>
      Up
    </ToneBadge>
  ) : (
    <ToneBadge tone="bad" icon={IconPlugConnectedX}>
      Lost
    </ToneBadge>
  )
}

function Supervision({ supervised }: Pick<Host, 'supervised'>) {
  return supervised ? (
    <ToneBadge tone="ok" icon={IconCheck} plain>
      supervised
    </ToneBadge>
  ) : (
    <ToneBadge
      tone="bad"
      icon={IconAlertTriangle}
      plain
      title="Its agents go on by themselves; nothing is restarted."
    >
      not supervised
    </ToneBadge>
  )
}
