import { Group } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { IconAlertTriangle, IconCheck, IconCircleX, IconPlayerPause } from '@tabler/icons-react'
import { keys } from '@/api/keys'
import type { Receiver } from '@/api/types'
import { testReceiver, updateReceiver } from '@/api/receivers'
import { useRefusal } from '@/components/teams/useReadOnly'
import { useSeveralTeams } from '@/components/teams/useTeamChoice'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { ownerWords } from '@/domain/owners'
import { RECEIVER_KINDS } from '@/domain/severities'
import { matcherWords } from '@/domain/matchers'
import { count } from '@/lib/format'
import classes from './receivers.module.css'

interface ReceiverTableProps {
  receivers: Receiver[]
  onEdit: (receiver: Receiver) => void
  onDelete: (receiver: Receiver) => void
  /** A trial is under way. */
  onPing: (receiver: Receiver) => void
}

export function ReceiverTable({ receivers, onEdit, onDelete, onPing }: ReceiverTableProps) {
  const client = useQueryClient()
  const refresh = () => client.invalidateQueries({ queryKey: keys.receivers })
  const several = useSeveralTeams()
  const refusal = useRefusal('admin')
  const turn = useMutation({
    mutationFn: (receiver: Receiver) => updateReceiver(receiver, { enabled: !receiver.enabled }),
    onSuccess: ({ id, enabled }) => announce(`Receiver ${id} is ${enabled ? 'enabled' : 'disabled'}.`),
    onSettled: refresh,
  })
  const ping = useMutation({
    mutationFn: ({ id }: Receiver) => testReceiver(id),
    onSuccess: (_, receiver) => {
      announce('The test message is sent. Its delivery shows the result.')
      onPing(receiver)
    },
    onSettled: refresh,
  })
  const error = turn.error ?? ping.error
  return (
    <>
      {error && <ErrorNote error={error} />}
      <Table
        label="Receivers"
        head={
          <>
            <th>Target</th>
            {several && <th>Team</th>}
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
        {receivers.map((receiver) => (
          <tr key={receiver.id}>
            <th scope="row">
              <Link to="/receivers" search={{ id: receiver.id }} className={classes.address}>
                {receiver.url || receiver.target}
              </Link>
              <div className="dim">{RECEIVER_KINDS[receiver.kind]}</div>
              {receiver.description && <div className="dim">{receiver.description}</div>}
            </th>
            {several && <td>{ownerWords(receiver.team)}</td>}
            <td>
              <span className="mono">{receiver.events.join(', ')}</span>
              <div className="dim">{matcherWords(receiver.matchers)}</div>
            </td>
            <td>
              <State receiver={receiver} />
            </td>
            <td className="num">{count(receiver.waiting)}</td>
            <td>
              <Ago at={receiver.last_success_at} />
            </td>
            <td>
              <Group gap="xs" justify="flex-end">
                <ReasonButton
                  variant="default"
                  size="compact-xs"
                  reason={refusal(receiver.team) ?? (receiver.enabled ? null : 'The receiver is disabled.')}
                  loading={ping.isPending && ping.variables.id === receiver.id}
                  aria-label={`Send test to receiver ${receiver.id}`}
                  onClick={() => ping.mutate(receiver)}
                >
                  Send test
                </ReasonButton>
                <ReasonButton
                  variant="default"
                  size="compact-xs"
                  reason={refusal(receiver.team)}
                  loading={turn.isPending && turn.variables.id === receiver.id}
                  aria-label={`${receiver.enabled ? 'Disable' : 'Enable'} receiver ${receiver.id}`}
                  onClick={() => turn.mutate(receiver)}
                >
                  {receiver.enabled ? 'Disable' : 'Enable'}
                </ReasonButton>
                <ReasonButton
                  variant="default"
                  size="compact-xs"
                  reason={refusal(receiver.team)}
                  aria-label={`Edit receiver ${receiver.id}`}
                  onClick={() => onEdit(receiver)}
                >
                  Edit
                </ReasonButton>
                <ReasonButton
                  variant="default"
                  size="compact-xs"
                  reason={refusal(receiver.team)}
                  aria-label={`Delete receiver ${receiver.id}`}
                  onClick={() => onDelete(receiver)}
                >
                  Delete
                </ReasonButton>
              </Group>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

/** Disabled by a user is as wanted, disabled by the system is not. */
function State({
  receiver: { enabled, disabled_reason: why, failing_since: since },
}: {
  receiver: Receiver
}) {
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
