import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { sessionQuery } from '@/api/session'
import type { Receiver } from '@/api/types'
import { receiversQuery } from '@/api/receivers'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { cannotAdminister } from '@/domain/roles'
import { plural } from '@/lib/format'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { frozen } from '@/domain/readOnly'
import { Deliveries } from './Deliveries'
import { DeleteDialog } from './DeleteDialog'
import { ReceiverDialog } from './ReceiverDialog'
import { ReceiverTable } from './ReceiverTable'
import classes from './receivers.module.css'

const POLL_MS = 10_000

type Open = { kind: 'add' } | { kind: 'change' | 'delete'; receiver: Receiver }

/** Who events and alerts are sent to. The one whose deliveries are shown is in the address. */
export function ReceiversPage() {
  const { data: session } = useQuery(sessionQuery)
  const hidden = cannotAdminister(session)
  const { data, error, refetch } = useQuery({
    ...receiversQuery,
    enabled: !hidden,
    refetchInterval: POLL_MS,
  })
  const { id, state } = useSearch({ from: '/receivers' })
  const navigate = useNavigate({ from: '/receivers' })
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const shown = data?.find((receiver) => receiver.id === id)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Receivers"
        beside={data && <span className="dim">{plural(data.length, 'receiver')}</span>}
        actions={
          !hidden && (
            <ReasonButton
              leftSection={<IconPlus size={14} aria-hidden />}
              reason={frozen(session)}
              onClick={() => setOpen({ kind: 'add' })}
            >
              Add receiver
            </ReasonButton>
          )
        }
      />
      {session && hidden && <Empty title="Your role cannot see receivers">{hidden}</Empty>}
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!hidden && !data && !error && <Loading />}
      {data && (
        <Panel title="All receivers" flush>
          {data.length === 0 ? (
            <Empty title="No receivers yet">
              A receiver is a webhook, a Slack channel, a PagerDuty service or a mailbox that gets alerts. Add
              the first one, then send a test.
            </Empty>
          ) : (
            <ReceiverTable
              receivers={data}
              onEdit={(receiver) => setOpen({ kind: 'change', receiver })}
              onDelete={(receiver) => setOpen({ kind: 'delete', receiver })}
              onPing={(receiver) => void navigate({ search: { id: receiver.id } })}
            />
          )}
        </Panel>
      )}
      {shown && (
        <Deliveries
          receiver={shown}
          state={state}
          onState={(wanted) => void navigate({ search: { id, state: wanted }, replace: true })}
        />
      )}
      {open?.kind === 'add' && <ReceiverDialog onClose={close} />}
      {open?.kind === 'change' && <ReceiverDialog receiver={open.receiver} onClose={close} />}
      {open?.kind === 'delete' && <DeleteDialog receiver={open.receiver} onClose={close} />}
    </div>
  )
}
