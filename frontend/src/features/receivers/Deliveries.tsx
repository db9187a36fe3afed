import { Select } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { IconBellOff, IconCheck, IconCircleX, IconClock, IconLoader2 } from '@tabler/icons-react'
import { keys } from '@/api/keys'
import type { Receiver, ReceiverDelivery } from '@/api/types'
import { deliveriesQuery, retryDelivery } from '@/api/receivers'
import { useRefusal } from '@/components/teams/useReadOnly'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count } from '@/lib/format'
import { STATE_WORDS } from './words'

const POLL_MS = 3_000
type State = ReceiverDelivery['state']

interface DeliveriesProps {
  receiver: Receiver
  state?: State
  onState: (state: State | undefined) => void
}

/** Every message to one endpoint, and what came of it. */
export function Deliveries({ receiver, state, onState }: DeliveriesProps) {
  const query = useInfiniteQuery({ ...deliveriesQuery(receiver.id, state), refetchInterval: POLL_MS })
  const deliveries = query.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <Panel
      title={`Deliveries to receiver ${receiver.id}`}
      note="newest first"
      flush
      actions={
        <Select
          aria-label="State of the deliveries"
          placeholder="Every state"
          data={Object.entries(STATE_WORDS).map(([value, label]) => ({ value, label }))}
          value={state ?? null}
          onChange={(value) => onState((value as State | null) ?? undefined)}
          clearable
          clearButtonProps={{ 'aria-label': 'Every state' }}
        />
      }
    >
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data && deliveries.length === 0 && (
        <Empty title="No deliveries">Deliveries are kept for some weeks after they succeed.</Empty>
      )}
      {deliveries.length > 0 && <DeliveryTable receiver={receiver} deliveries={deliveries} />}
      <LoadMore query={query} />
    </Panel>
  )
}

function DeliveryTable({ receiver, deliveries }: { receiver: Receiver; deliveries: ReceiverDelivery[] }) {
  const client = useQueryClient()
  const refused = useRefusal('admin')(receiver.team)
  const retry = useMutation({
    mutationFn: retryDelivery,
    onSuccess: ({ message_id }) => announce(`${message_id} is sent again.`),
    onSettled: () => client.invalidateQueries({ queryKey: keys.receivers }),
  })
  return (
    <>
      {retry.error && <ErrorNote error={retry.error} />}
      <Table
        label="Deliveries"
        head={
          <>
            <th>Event</th>
            <th>Pipeline</th>
            <th>Occurred</th>
            <th>State</th>
            <th className="num">Attempts</th>
            <th className="num">Response</th>
            <th>Reason</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {deliveries.map((delivery) => (
          <tr key={delivery.id}>
            <th scope="row" title={delivery.message_id}>
              {delivery.type}
            </th>
            <td>
              <About pipeline={delivery.pipeline} />
            </td>
            <td>
              <Moment at={delivery.happened_at} />
            </td>
            <td>
              <DeliveryState delivery={delivery} />
            </td>
            <td className="num">{count(delivery.attempts)}</td>
            <td className="num">{delivery.response_status ?? '–'}</td>
            <td>{delivery.last_error}</td>
            <td>
              <ReasonButton
                size="compact-xs"
                variant="default"
                reason={refused ?? cannotRetry(receiver, delivery)}
                loading={retry.isPending && retry.variables.id === delivery.id}
                aria-label={`${retryWord(delivery)} ${delivery.type} of event ${delivery.event}`}
                onClick={() => retry.mutate(delivery)}
              >
                {retryWord(delivery)}
              </ReasonButton>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

const retryWord = ({ state }: ReceiverDelivery) => (state === 'DELIVERED' ? 'Send again' : 'Retry')

function cannotRetry(receiver: Receiver, delivery: ReceiverDelivery): string | null {
  if (!receiver.enabled) return 'The receiver is disabled.'
  return delivery.state === 'SENDING' ? 'A delivery is in progress.' : null
}

function About({ pipeline }: Pick<ReceiverDelivery, 'pipeline'>) {
  if (!pipeline) return <span className="dim">–</span>
  return (
    <Link to="/pipelines/$name" params={{ name: pipeline }}>
      {pipeline}
    </Link>
  )
}

const LOOKS = {
  WAITING: { tone: 'held', icon: IconClock },
  SENDING: { tone: 'busy', icon: IconLoader2 },
  DELIVERED: { tone: 'ok', icon: IconCheck },
  FAILED: { tone: 'bad', icon: IconCircleX },
  SUPPRESSED: { tone: 'idle', icon: IconBellOff },
} as const

function DeliveryState({ delivery: { state, next_attempt_at: next } }: { delivery: ReceiverDelivery }) {
  return (
    <>
      <ToneBadge {...LOOKS[state]}>{STATE_WORDS[state]}</ToneBadge>
      {state === 'WAITING' && next && (
        <div className="dim">
          next attempt <Moment at={next} />
        </div>
      )}
    </>
  )
}
