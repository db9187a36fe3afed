import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import {
  IconAlertTriangle,
  IconCheck,
  IconFileZip,
  IconMail,
  IconMailOff,
  IconPlugConnectedX,
  type Icon,
} from '@tabler/icons-react'
import { useState } from 'react'
import { INSTALLATION_DIAGNOSTICS_URL } from '@/api/diagnostics'
import { hostsQuery } from '@/api/hosts'
import type { Host } from '@/api/types'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { cannotAdministerAll } from '@/domain/roles'
import { bytes, count, plural } from '@/lib/format'
import { useSession } from '@/lib/session'
import { Drained, DrainButton } from './Draining'
import { EvacuateButton, EvacuationsPanel } from './evacuation/Evacuating'
import { HostDialog } from './HostDialog'
import { RemoveButton } from './Removing'
import classes from './hosts.module.css'

const POLL_MS = 5_000

export function HostsPage() {
  const query = useQuery({ ...hostsQuery, refetchInterval: POLL_MS })
  const { data: hosts, error, refetch } = query
  return (
    <div className={classes.page}>
      <PageHeader
        title="Hosts"
        beside={hosts && <span className="dim">{plural(hosts.length, 'host')}</span>}
        actions={<DownloadDiagnostics />}
      />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!hosts && !error && <Loading />}
      {hosts && (
        <Panel title="Hosts with a worker" flush>
          <StaleFigures query={query} every={POLL_MS} />
          {hosts.length === 0 ? <NoHosts /> : <HostTable hosts={hosts} />}
        </Panel>
      )}
      <EvacuationsPanel />
    </div>
  )
}

/** The bundle of the installation, for those who get it. */
function DownloadDiagnostics() {
  const { session } = useSession()
  return cannotAdministerAll(session) === null ? (
    <Button
      component="a"
      variant="default"
      href={INSTALLATION_DIAGNOSTICS_URL}
      download
      leftSection={<IconFileZip size={14} aria-hidden />}
    >
      Download diagnostics
    </Button>
  ) : null
}

function NoHosts() {
  return (
    <Empty title="No worker has reported yet">
      <div className={classes.command}>
        <CodeBlock code="headgate up" label="Start the stack" />
      </div>
    </Empty>
  )
}

function HostTable({ hosts }: { hosts: Host[] }) {
  const [shown, setShown] = useState<string | null>(null)
  return (
    <>
      <Table
        label="Hosts"
        head={
          <>
            <th>Name</th>
            <th>State</th>
            <th>Supervision</th>
            <th>Last seen</th>
            <th className="num">Agents</th>
            <th className="num">Reserved</th>
            <th className={`num ${classes.wide}`}>Disk free</th>
            <th className={`num ${classes.wide}`}>Cores</th>
            <th className={classes.wide}>Version</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {hosts.map((host) => (
          <HostRow key={host.name} host={host} onShow={setShown} />
        ))}
      </Table>
      {shown !== null && <HostDialog name={shown} onClose={() => setShown(null)} />}
    </>
  )
}

function HostRow({ host, onShow }: { host: Host; onShow: (name: string) => void }) {
  return (
    <tr>
      <th scope="row">
        {host.name}
        <div className={`mono dim ${classes.wide} ${classes.path}`} title="State directory">
          {host.state_dir}
        </div>
      </th>
      <td>
        <HostState state={host.state} /> <Drained host={host} />
        <DiskState disk={host.disk} />
      </td>
      <td>
        <Supervision supervised={host.supervised} />
        <div>
          <Messages messages={host.messages} />
        </div>
        <BrokerWarnings warnings={host.messages?.warnings ?? []} />
      </td>
      <td>
        <Ago at={host.seen_at} />
      </td>
      <td className="num">
        {count(host.agents)}
        <div className="dim">
          {host.slots === null ? 'no limit' : `${count(host.promised)} of ${plural(host.slots, 'slot')}`}
        </div>
      </td>
      <td className="num">
        {bytes(host.memory_promised)}
        <div className="dim">of {bytes(host.memory_limit ?? host.memory_bytes)}</div>
      </td>
      <td className={`num ${classes.wide}`}>
        <DiskSpace disk={host.disk} />
      </td>
      <td className={`num ${classes.wide}`}>{count(host.cores)}</td>
      <td className={classes.wide}>{host.version}</td>
      <td>
        <div className={classes.actions}>
          <Button
            variant="subtle"
            size="compact-xs"
            aria-label={`Show the pipelines on ${host.name}`}
            onClick={() => onShow(host.name)}
          >
            Pipelines
          </Button>
          <DrainButton host={host} />
          <EvacuateButton host={host} />
          <RemoveButton host={host} />
        </div>
      </td>
    </tr>
  )
}

type MessageState = NonNullable<Host['messages']>['state']

const MESSAGES: Record<MessageState, { tone: Tone; icon: Icon; word: string }> = {
  HEALTHY: { tone: 'ok', icon: IconMail, word: 'broker connection healthy' },
  BUSY: { tone: 'busy', icon: IconMail, word: 'all task slots busy' },
  AWAY: { tone: 'warn', icon: IconMailOff, word: 'broker unreachable' },
  FULL: { tone: 'warn', icon: IconMailOff, word: 'broker full' },
  REFUSED: { tone: 'warn', icon: IconMailOff, word: 'broker refuses a queue' },
  UNRESPONSIVE: { tone: 'bad', icon: IconMailOff, word: 'broker connection unresponsive' },
}

/** Whether messages reach the worker; without them it acts a second later. */
function Messages({ messages }: Pick<Host, 'messages'>) {
  if (messages === null) return <span className="dim">broker connection not checked yet</span>
  const { tone, icon, word } = MESSAGES[messages.state]
  return (
    <ToneBadge tone={tone} icon={icon} plain title={messages.detail || undefined}>
      {word}
    </ToneBadge>
  )
}

/** What others could use against the broker; the dialog of the host has it in words. */
function BrokerWarnings({ warnings }: { warnings: string[] }) {
  if (warnings.length === 0) return null
  return (
    <div>
      <ToneBadge tone="warn" icon={IconAlertTriangle} plain title={warnings.join(' ')}>
        broker at risk
      </ToneBadge>
    </div>
  )
}

const DISK: Record<'LOW' | 'FULL', { tone: Tone; icon: Icon; word: string }> = {
  LOW: { tone: 'warn', icon: IconAlertTriangle, word: 'disk low' },
  FULL: { tone: 'bad', icon: IconAlertTriangle, word: 'disk full' },
}

/** Room on the disk of runs and checkpoints. */
function DiskSpace({ disk }: Pick<Host, 'disk'>) {
  if (disk === null) return <span className="dim">-</span>
  return (
    <>
      {bytes(disk.free_bytes)}
      <div className="dim">of {bytes(disk.total_bytes)}</div>
    </>
  )
}

/** A disk that is low, or full, so that no batch starts. */
function DiskState({ disk }: Pick<Host, 'disk'>) {
  if (disk === null || disk.state === 'OK') return null
  const { tone, icon, word } = DISK[disk.state]
  return (
    <div>
      <ToneBadge
        tone={tone}
        icon={icon}
        plain
        title={`${disk.path}: Headgate warns below ${bytes(disk.margin_bytes)}`}
      >
        {word}
      </ToneBadge>
    </div>
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
      title="Its agents continue without it. Nothing is restarted."
    >
      not supervised
    </ToneBadge>
  )
}
