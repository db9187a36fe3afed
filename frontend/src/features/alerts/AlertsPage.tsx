import { SegmentedControl } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { IconBell, IconCheck, IconEye } from '@tabler/icons-react'
import { acknowledgeAlert, alertsQuery } from '@/api/alerts'
import { sessionQuery } from '@/api/session'
import type { Alert } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { cannotWrite } from '@/domain/roles'
import { usePollInterval } from '@/lib/live/LiveProvider'
import classes from './alerts.module.css'

const STATES = [
  { value: 'OPEN', label: 'Open' },
  { value: 'ACKNOWLEDGED', label: 'Acknowledged' },
  { value: 'RESOLVED', label: 'Resolved' },
]

/** Rules whose alerts have a host as their key. */
const ABOUT_HOSTS = new Set(['host_silent', 'disk_low'])

/** What the rules have found: open until a user has acknowledged it, resolved when its cause is gone. */
export function AlertsPage() {
  const { state = 'OPEN' } = useSearch({ from: '/alerts' })
  const navigate = useNavigate({ from: '/alerts' })
  const query = useInfiniteQuery({ ...alertsQuery(state), refetchInterval: usePollInterval() })
  const alerts = query.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <div className={classes.page}>
      <PageHeader
        title="Alerts"
        beside={<span className="dim">conditions that require action, by rule</span>}
      />
      <Panel
        title="Alerts"
        note="newest first"
        flush
        actions={
          <SegmentedControl
            aria-label="State"
            data={STATES}
            value={state}
            onChange={(value) => void navigate({ search: { state: value as Alert['state'] }, replace: true })}
          />
        }
      >
        {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
        {query.isPending && <Loading />}
        {query.data && alerts.length === 0 && <Empty title={NOTHING[state]} />}
        {alerts.length > 0 && <AlertTable alerts={alerts} />}
        <LoadMore query={query} />
      </Panel>
    </div>
  )
}

const NOTHING: Record<Alert['state'], string> = {
  OPEN: 'No open alerts',
  ACKNOWLEDGED: 'No acknowledged alerts',
  RESOLVED: 'No resolved alerts',
}

function AlertTable({ alerts }: { alerts: Alert[] }) {
  const client = useQueryClient()
  const readOnly = cannotWrite(useQuery(sessionQuery).data)
  const seen = useMutation({
    mutationFn: acknowledgeAlert,
    onSuccess: () => announce('The alert is acknowledged.'),
    onSettled: () => client.invalidateQueries({ queryKey: ['alerts'] }),
  })
  return (
    <>
      {seen.error && <ErrorNote error={seen.error} />}
      <Table
        label="Alerts"
        head={
          <>
            <th>Rule</th>
            <th>Subject</th>
            <th>Message</th>
            <th>Since</th>
            <th>State</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {alerts.map((alert) => (
          <tr key={alert.id}>
            <th scope="row">{alert.rule.replaceAll('_', ' ')}</th>
            <td>
              <About alert={alert} />
            </td>
            <td>{alert.message}</td>
            <td>
              <Moment at={alert.opened_at} />
            </td>
            <td>
              <AlertState alert={alert} />
            </td>
            <td>
              {alert.state === 'OPEN' && (
                <ReasonButton
                  size="compact-xs"
                  variant="default"
                  reason={readOnly}
                  aria-label={`Acknowledge: ${alert.message}`}
                  loading={seen.isPending && seen.variables === alert.id}
                  onClick={() => seen.mutate(alert.id)}
                >
                  Acknowledge
                </ReasonButton>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

/** A migration, a pipeline, a host, a webhook, a consumer group, or what its key names. */
function About({ alert }: { alert: Alert }) {
  if (typeof alert.data.migration === 'string') {
    return (
      <Link to="/migrations/$id" params={{ id: alert.data.migration }}>
        Migration of {alert.key}
      </Link>
    )
  }
  if (alert.pipeline) {
    return (
      <Link to="/pipelines/$name" params={{ name: alert.pipeline }}>
        {alert.pipeline}
      </Link>
    )
  }
  if (ABOUT_HOSTS.has(alert.rule)) return <Link to="/hosts">{alert.key}</Link>
  if (typeof alert.data.webhook === 'number') {
    return (
      <Link to="/webhooks" search={{ id: alert.data.webhook }}>
        {alert.key}
      </Link>
    )
  }
  return typeof alert.data.group === 'string' ? alert.data.group : alert.key
}

function AlertState({ alert }: { alert: Alert }) {
  if (alert.state === 'RESOLVED') {
    return (
      <ToneBadge tone="ok" icon={IconCheck}>
        Resolved
      </ToneBadge>
    )
  }
  if (alert.state === 'ACKNOWLEDGED') {
    return (
      <ToneBadge tone="held" icon={IconEye} title={`By ${alert.acknowledged_by}`}>
        Acknowledged
      </ToneBadge>
    )
  }
  return (
    <ToneBadge tone="bad" icon={IconBell}>
      Open
    </ToneBadge>
  )
}
