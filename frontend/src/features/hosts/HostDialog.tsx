import { Button, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { IconAlertTriangle, IconShieldCheck } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { hostQuery } from '@/api/hosts'
import type { HostDetail } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PhaseBadge } from '@/components/ui/PhaseBadge'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { ANY_HOST } from '@/domain/placement'
import { count } from '@/lib/format'

const POLL_MS = 15_000
/** So many rows at once: a host may have a thousand, and each has links. */
const PORTION = 100

type Guest = HostDetail['pipelines'][number]

/** Who has a place on a host, and what keeps each of them there. */
export function HostDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { data, error, refetch } = useQuery({ ...hostQuery(name), refetchInterval: POLL_MS })
  return (
    <Modal opened onClose={onClose} title={`Pipelines on ${name}`} size="xl">
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          Draining moves pipelines that are not bound to the host. A pin is part of the definition: it needs a
          new revision, while the pipeline is stopped.
        </Text>
        {data?.isolation && <Isolation isolation={data.isolation} />}
        {data?.messages?.warnings.map((warning) => (
          <BrokerWarning key={warning} warning={warning} />
        ))}
        {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
        {!data && !error && <Loading />}
        {data?.pipelines.length === 0 && <Empty title="No pipeline is placed here" />}
        {data && data.pipelines.length > 0 && <Guests host={name} guests={data.pipelines} />}
      </Stack>
    </Modal>
  )
}

/** Whether agents run as users of their own; if not, why, and what to do. */
function Isolation({ isolation }: { isolation: NonNullable<HostDetail['isolation']> }) {
  const own = isolation.state === 'USER'
  return (
    <div>
      <ToneBadge tone={own ? 'ok' : 'warn'} icon={own ? IconShieldCheck : IconAlertTriangle} plain>
        {own ? 'Agents run as users of their own' : 'Agents have no users of their own'}
      </ToneBadge>
      <Text size="sm" c="dimmed">
        {isolation.detail} {isolation.hint}
      </Text>
    </div>
  )
}

/** What others could use against the broker, and what to do. */
function BrokerWarning({ warning }: { warning: string }) {
  return (
    <div>
      <ToneBadge tone="warn" icon={IconAlertTriangle} plain>
        Broker at risk
      </ToneBadge>
      <Text size="sm" c="dimmed">
        {warning}
      </Text>
    </div>
  )
}

function Guests({ host, guests }: { host: string; guests: Guest[] }) {
  const [limit, setLimit] = useState(PORTION)
  const hidden = guests.length - limit
  return (
    <>
      <Table
        label={`Pipelines on ${host}`}
        maxHeight={420}
        head={
          <>
            <th>Pipeline</th>
            <th>Phase</th>
            <th className="num">Run</th>
            <th>Bound by</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {guests.slice(0, limit).map((guest) => (
          <tr key={guest.name}>
            <th scope="row">
              <Link to="/pipelines/$name" params={{ name: guest.name }}>
                {guest.name}
              </Link>
            </th>
            <td>
              <PhaseBadge phase={guest.phase} />
            </td>
            <td className="num">{guest.live_run ?? 'none'}</td>
            <td>{guest.tied.join('; ') || <span className="dim">nothing, it can move</span>}</td>
            <td>
              <Pin host={host} guest={guest} />
            </td>
          </tr>
        ))}
      </Table>
      {hidden > 0 && (
        <Button variant="subtle" onClick={() => setLimit(limit + PORTION)}>
          Show {count(Math.min(PORTION, hidden))} of {count(hidden)} more
        </Button>
      )}
    </>
  )
}

/** Leads to the revision that would pin a pipeline to the host, or let it go. */
function Pin({ host, guest: { name, tied } }: { host: string; guest: Guest }) {
  const pinned = tied.some((each) => each.startsWith('placement.host'))
  const search = { host: pinned ? ANY_HOST : host }
  return (
    <Link
      to="/pipelines/$name/edit"
      params={{ name }}
      search={search}
      aria-label={pinned ? `Unpin ${name}` : `Pin ${name} to ${host}`}
    >
      {pinned ? 'Unpin' : 'Pin'}
    </Link>
  )
}
