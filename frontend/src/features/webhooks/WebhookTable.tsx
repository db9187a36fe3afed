import { Button, Group } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { IconAlertTriangle, IconCheck, IconCircleX, IconPlayerPause } from '@tabler/icons-react'
import { keys } from '@/api/keys'
import type { Webhook } from '@/api/types'
import { pingWebhook, updateWebhook } from '@/api/webhooks'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count } from '@/lib/format'
import classes from './webhooks.module.css'

interface WebhookTableProps {
  webhooks: Webhook[]
  onEdit: (webhook: Webhook) => void
  onRemove: (webhook: Webhook) => void
  /** A trial is under way. */
  onPing: (webhook: Webhook) => void
}

export function WebhookTable({ webhooks, onEdit, onRemove, onPing }: WebhookTableProps) {
  const client = useQueryClient()
  const refresh = () => client.invalidateQueries({ queryKey: keys.webhooks })
  const turn = useMutation({
    mutationFn: (webhook: Webhook) => updateWebhook(webhook, { enabled: !webhook.enabled }),
    onSuccess: ({ id, enabled }) => announce(`Webhook ${id} is ${enabled ? 'enabled' : 'disabled'}.`),
    onSettled: refresh,
  })
  const ping = useMutation({
    mutationFn: ({ id }: Webhook) => pingWebhook(id),
    onSuccess: (_, webhook) => {
      announce('The test event is sent. Its delivery shows the result.')
      onPing(webhook)
    },
    onSettled: refresh,
  })
  const error = turn.error ?? ping.error
  return (
    <>
      {error && <ErrorNote error={error} />}
      <Table
        label="Webhooks"
        head={
          <>
            <th>URL</th>
            <th>Events</th>
            <th>State</th>
            <th className="num">Waiting</th>
            <th>Last success</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {webhooks.map((webhook) => (
          <tr key={webhook.id}>
            <th scope="row">
              <Link to="/webhooks" search={{ id: webhook.id }} className={classes.address}>
                {webhook.url}
              </Link>
              {webhook.description && <div className="dim">{webhook.description}</div>}
            </th>
            <td className="mono">{webhook.events.join(', ')}</td>
            <td>
              <State webhook={webhook} />
            </td>
            <td className="num">{count(webhook.waiting)}</td>
            <td>
              <Ago at={webhook.last_success_at} />
            </td>
            <td>
              <Group gap="xs" justify="flex-end">
                <ReasonButton
                  variant="default"
                  size="compact-xs"
                  reason={webhook.enabled ? null : 'The webhook is disabled.'}
                  loading={ping.isPending && ping.variables.id === webhook.id}
                  aria-label={`Send test to webhook ${webhook.id}`}
                  onClick={() => ping.mutate(webhook)}
                >
                  Send test
                </ReasonButton>
                <Button
                  variant="default"
                  size="compact-xs"
                  loading={turn.isPending && turn.variables.id === webhook.id}
                  aria-label={`${webhook.enabled ? 'Disable' : 'Enable'} webhook ${webhook.id}`}
                  onClick={() => turn.mutate(webhook)}
                >
                  {webhook.enabled ? 'Disable' : 'Enable'}
                </Button>
                <Button
                  variant="default"
                  size="compact-xs"
                  aria-label={`Edit webhook ${webhook.id}`}
                  onClick={() => onEdit(webhook)}
                >
                  Edit
                </Button>
                <Button
                  variant="default"
                  size="compact-xs"
                  aria-label={`Remove webhook ${webhook.id}`}
                  onClick={() => onRemove(webhook)}
                >
                  Remove
                </Button>
              </Group>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

/** Disabled by a user is as wanted, disabled by the system is not. */
function State({ webhook: { enabled, disabled_reason: why, failing_since: since } }: { webhook: Webhook }) {
  if (!enabled && why) {
    return (
      <>
        <ToneBadge tone="bad" icon={IconCircleX}>
          Disabled
        </ToneBadge>
        <div className="dim">automatically: {why}</div>
      </>
    )
  }
  if (!enabled) {
    return (
      <ToneBadge tone="held" icon={IconPlayerPause}>
        Disabled
      </ToneBadge>
    )
  }
  if (since) {
    return (
      <ToneBadge tone="warn" icon={IconAlertTriangle}>
        Failing since <Ago at={since} />
      </ToneBadge>
    )
  }
  return (
    <ToneBadge tone="ok" icon={IconCheck}>
      Enabled
    </ToneBadge>
  )
}
