import { Group, Modal, Stack } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  applyRequest,
  approveRequest,
  cancelRequest,
  denyRequest,
  openRequestsQuery,
} from '@/api/changeRequests'
import { keys } from '@/api/keys'
import { sessionQuery } from '@/api/session'
import type { ChangeRequest } from '@/api/types'
import { showRefusal } from '@/components/actions/useAction'
import { announce } from '@/components/ui/Announcer'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ReasonField } from '@/components/ui/ReasonField'
import { CHANGES, cannotApply, cannotApprove } from '@/domain/changes'
import { useNoRights } from '@/components/teams/useReadOnly'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { frozenFor } from '@/domain/readOnly'

export const useOpenRequests = (name: string) =>
  useQuery({ ...openRequestsQuery(name), refetchInterval: usePollInterval() })

/** The open change requests of a governed pipeline; nothing where there is none. */
export function ChangeRequests({ name }: { name: string }) {
  const { data } = useOpenRequests(name)
  if (!data || data.length === 0) return null
  return (
    <Panel title="Change requests" note="awaiting approval, or ready to apply" flush>
      <Table
        label="Change requests"
        head={
          <>
            <th>Change</th>
            <th>Reason</th>
            <th>By</th>
            <th>Approvals</th>
            <th>Expires</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {data.map((request) => (
          <Row key={request.id} request={request} />
        ))}
      </Table>
    </Panel>
  )
}

function Row({ request }: { request: ChangeRequest }) {
  const by = request.approvals.filter(({ counts }) => counts).map((each) => each.by)
  return (
    <tr>
      <th scope="row">
        {CHANGES[request.kind]} {request.summary && <span className="dim">{request.summary}</span>}
      </th>
      <td>{request.reason}</td>
      <td>{request.created_by}</td>
      <td>
        {request.approvals_counted} of {request.approvers_needed}
        {by.length > 0 && ` (${by.join(', ')})`}
      </td>
      <td>
        <Moment at={request.expires_at} />
      </td>
      <td>
        <Choices request={request} />
      </td>
    </tr>
  )
}

function Choices({ request }: { request: ChangeRequest }) {
  const client = useQueryClient()
  const session = useQuery(sessionQuery).data
  const [denying, setDenying] = useState(false)
  const readOnly = useNoRights(request.pipeline)
  const change = useMutation({
    mutationFn: ({ send }: { send: () => Promise<unknown>; words: string }) => send(),
    onSuccess: (_, { words }) => announce(words),
    onError: (error) => showRefusal(`${CHANGES[request.kind]} of ${request.pipeline} was rejected`, error),
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(request.pipeline) }),
  })
  const button = (label: string, reason: string | null, onClick: () => void) => (
    <ReasonButton
      size="compact-xs"
      variant="default"
      reason={readOnly ?? reason}
      loading={change.isPending}
      aria-label={`${label}: ${CHANGES[request.kind]}, ${request.reason}`}
      onClick={onClick}
    >
      {label}
    </ReasonButton>
  )
  const send = (act: () => Promise<unknown>, words: string) => change.mutate({ send: act, words })
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {button('Approve', frozenFor(request.kind, session) ?? cannotApprove(request, session), () =>
        send(() => approveRequest(request), 'The change is approved.'),
      )}
      {button('Apply', frozenFor(request.kind, session) ?? cannotApply(request), () =>
        send(() => applyRequest(request), 'The change is made.'),
      )}
      {button('Deny', null, () => setDenying(true))}
      {button('Cancel', null, () => send(() => cancelRequest(request), 'The request is cancelled.'))}
      {denying && (
        <DenyDialog
          request={request}
          onDeny={(reason) => {
            setDenying(false)
            send(() => denyRequest(request, reason), 'The change is denied.')
          }}
          onClose={() => setDenying(false)}
        />
      )}
    </Group>
  )
}

interface DenyDialogProps {
  request: ChangeRequest
  onDeny: (reason: string) => void
  onClose: () => void
}

function DenyDialog({ request, onDeny, onClose }: DenyDialogProps) {
  const [reason, setReason] = useState('')
  return (
    <Modal opened onClose={onClose} title={`Deny: ${CHANGES[request.kind]}?`}>
      <Stack gap="md" component="form" onSubmit={(event) => event.preventDefault()}>
        <ReasonField
          description={`Shown to ${request.created_by}`}
          value={reason}
          onChange={setReason}
          focused
        />
        <Group justify="flex-end" gap="xs">
          <ReasonButton
            type="submit"
            reason={reason.trim() ? null : 'Enter a reason first.'}
            onClick={() => onDeny(reason.trim())}
          >
            Deny change
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
