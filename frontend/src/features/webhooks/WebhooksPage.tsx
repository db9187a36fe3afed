import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { sessionQuery } from '@/api/session'
import type { Webhook } from '@/api/types'
import { webhooksQuery } from '@/api/webhooks'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { cannotAdminister } from '@/domain/roles'
import { plural } from '@/lib/format'
import { Deliveries } from './Deliveries'
import { RemoveDialog } from './RemoveDialog'
import { WebhookDialog } from './WebhookDialog'
import { WebhookTable } from './WebhookTable'
import classes from './webhooks.module.css'

const POLL_MS = 10_000

type Open = { kind: 'add' } | { kind: 'change' | 'remove'; webhook: Webhook }

/** Endpoints that events are sent to. The one whose deliveries are shown is in the address. */
export function WebhooksPage() {
  const { data: session } = useQuery(sessionQuery)
  const hidden = cannotAdminister(session)
  const { data, error, refetch } = useQuery({
    ...webhooksQuery,
    enabled: !hidden,
    refetchInterval: POLL_MS,
  })
  const { id, state } = useSearch({ from: '/webhooks' })
  const navigate = useNavigate({ from: '/webhooks' })
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const shown = data?.find((webhook) => webhook.id === id)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Webhooks"
        beside={data && <span className="dim">{plural(data.length, 'webhook')}</span>}
        actions={
          !hidden && (
            <Button leftSection={<IconPlus size={14} aria-hidden />} onClick={() => setOpen({ kind: 'add' })}>
              Add webhook
            </Button>
          )
        }
      />
      {session && hidden && <Empty title="Your role cannot see webhooks">{hidden}</Empty>}
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!hidden && !data && !error && <Loading />}
      {data && (
        <Panel title="Endpoints" flush>
          {data.length === 0 ? (
            <Empty title="No webhooks yet">
              A webhook sends signed events to your endpoint. Add the first one to receive them.
            </Empty>
          ) : (
            <WebhookTable
              webhooks={data}
              onEdit={(webhook) => setOpen({ kind: 'change', webhook })}
              onRemove={(webhook) => setOpen({ kind: 'remove', webhook })}
              onPing={(webhook) => void navigate({ search: { id: webhook.id } })}
            />
          )}
        </Panel>
      )}
      {shown && (
        <Deliveries
          webhook={shown}
          state={state}
          onState={(wanted) => void navigate({ search: { id, state: wanted }, replace: true })}
        />
      )}
      {open?.kind === 'add' && <WebhookDialog onClose={close} />}
      {open?.kind === 'change' && <WebhookDialog webhook={open.webhook} onClose={close} />}
      {open?.kind === 'remove' && <RemoveDialog webhook={open.webhook} onClose={close} />}
    </div>
  )
}
