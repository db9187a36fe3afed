import { Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { IconBell, IconBellOff, IconCheck, IconEye } from '@tabler/icons-react'
import type { Alert, AlertDelivery } from '@/api/types'
import { Check } from '@/components/ui/Check'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { ruleWords } from '@/domain/matchers'
import { useFrozen } from '@/lib/session'
import { useNoRights } from '@/components/teams/useReadOnly'
import { SEVERITIES } from '@/domain/severities'
import { outcome, receiverWords } from './words'
import classes from './alerts.module.css'

/** Which alerts are selected for an action on all of them. */
export interface Selection {
  has: (alert: Alert) => boolean
  toggle: (alert: Alert) => void
}

interface AlertCardsProps {
  label: string
  alerts: Alert[]
  selection?: Selection
  onAcknowledge: (alert: Alert) => void
  onSilence: (alert: Alert) => void
}

/** Rules whose alerts have a host as their key. */
const ABOUT_HOSTS = new Set(['host_silent', 'disk_low'])

/** Alerts one below the other, so that each has room for its text in a narrow window too. */
export function AlertCards({ label, alerts, selection, ...asking }: AlertCardsProps) {
  return (
    <ul className={classes.cards} aria-label={label}>
      {alerts.map((alert) => (
        <li key={alert.id} className={classes.card} tabIndex={-1} data-alert={alert.id}>
          <Facts alert={alert} selection={selection} />
          <p className={classes.message}>{alert.message}</p>
          {alert.state !== 'RESOLVED' && alert.next_step && (
            <p className={classes.message}>
              <span className="dim">Next step:</span> {alert.next_step}
            </p>
          )}
          <Outcomes deliveries={alert.deliveries} />
          {alert.state !== 'RESOLVED' && <Actions alert={alert} {...asking} />}
        </li>
      ))}
    </ul>
  )
}

function Facts({ alert, selection }: { alert: Alert; selection: Selection | undefined }) {
  return (
    <div className={classes.facts}>
      {selection && alert.state === 'OPEN' && (
        <Check
          label={`Select: ${alert.message}`}
          part="select"
          checked={selection.has(alert)}
          onChange={() => selection.toggle(alert)}
        />
      )}
      <SeverityBadge severity={alert.severity} />
      <strong className={classes.subject} data-key="subject">
        <About alert={alert} />
      </strong>
      <span>{ruleWords(alert.rule)}</span>
      <span className="dim">
        since <Moment at={alert.opened_at} />
      </span>
      <AlertState alert={alert} />
    </div>
  )
}

function Actions({
  alert,
  onAcknowledge,
  onSilence,
}: { alert: Alert } & Pick<AlertCardsProps, 'onAcknowledge' | 'onSilence'>) {
  const rights = useNoRights(alert.pipeline)
  const frozen = useFrozen()
  const look = { size: 'compact-xs', variant: 'default' } as const
  return (
    <Group gap="xs">
      {alert.state === 'OPEN' && (
        <ReasonButton
          {...look}
          reason={rights}
          data-key="acknowledge"
          aria-label={`Acknowledge: ${alert.message}`}
          onClick={() => onAcknowledge(alert)}
        >
          Acknowledge
        </ReasonButton>
      )}
      <ReasonButton
        {...look}
        reason={rights ?? frozen}
        data-key="silence"
        aria-label={`Silence: ${alert.message}`}
        onClick={() => onSilence(alert)}
      >
        Silence
      </ReasonButton>
    </Group>
  )
}

function SeverityBadge({ severity }: Pick<Alert, 'severity'>) {
  const { word, tone, icon } = SEVERITIES[severity]
  return (
    <ToneBadge tone={tone} icon={icon}>
      {word}
    </ToneBadge>
  )
}

/** What became of each message, receiver by receiver. */
function Outcomes({ deliveries }: { deliveries: AlertDelivery[] }) {
  if (deliveries.length === 0) return <p className="dim">Sent to no receiver.</p>
  const receivers = grouped(deliveries)
  return (
    <ul className={classes.outcomes}>
      {[...receivers].map(([name, told]) => (
        <li key={name}>
          {name}: {told.map(outcome).join(', ')}
        </li>
      ))}
    </ul>
  )
}

function grouped(deliveries: AlertDelivery[]): Map<string, AlertDelivery[]> {
  const found = new Map<string, AlertDelivery[]>()
  for (const each of deliveries) {
    const name = receiverWords(each)
    found.set(name, [...(found.get(name) ?? []), each])
  }
  return found
}

/** A migration, a pipeline, a host, a receiver, a consumer group, or what its key names. */
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
  if (alert.rule === 'audit_broken') return <Link to="/audit">Audit</Link>
  if (typeof alert.data.receiver === 'number') {
    return (
      <Link to="/receivers" search={{ id: alert.data.receiver }}>
        {alert.key}
      </Link>
    )
  }
  return typeof alert.data.group === 'string' ? alert.data.group : alert.key
}

function AlertState({ alert }: { alert: Alert }) {
  return (
    <>
      <StateBadge alert={alert} />
      {alert.state === 'ACKNOWLEDGED' && (
        <span className="dim">
          by {alert.acknowledged_by}, <Moment at={alert.acknowledged_at} />
          {alert.acknowledged_note && `: ${alert.acknowledged_note}`}
        </span>
      )}
      {alert.state === 'RESOLVED' && (
        <span className="dim">
          <Moment at={alert.resolved_at} />
        </span>
      )}
      {alert.silenced_until && (
        <ToneBadge tone="idle" icon={IconBellOff}>
          Silenced until <Moment at={alert.silenced_until} />
        </ToneBadge>
      )}
    </>
  )
}

function StateBadge({ alert: { state } }: { alert: Alert }) {
  if (state === 'RESOLVED') {
    return (
      <ToneBadge tone="ok" icon={IconCheck}>
        Resolved
      </ToneBadge>
    )
  }
  if (state === 'ACKNOWLEDGED') {
    return (
      <ToneBadge tone="held" icon={IconEye}>
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
