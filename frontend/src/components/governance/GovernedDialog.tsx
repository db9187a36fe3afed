import { Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { breakGlass, requestChange } from '@/api/changeRequests'
import { keys } from '@/api/keys'
import type { Problem } from '@/api/problem'
import { sessionQuery } from '@/api/session'
import type { ChangeKind } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ReasonField } from '@/components/ui/ReasonField'
import { CHANGES, requestCall } from '@/domain/changes'

interface GovernedDialogProps {
  name: string
  kind: ChangeKind
  arguments: Record<string, unknown>
  refusal: Problem
  onClose: () => void
}

/** A change that approvals or a freeze govern: other users are asked, or an administrator breaks glass. */
export function GovernedDialog({ name, kind, arguments: given, refusal, onClose }: GovernedDialogProps) {
  const client = useQueryClient()
  const admin = useQuery(sessionQuery).data?.role === 'admin'
  const [reason, setReason] = useState('')
  const body = { kind, arguments: given, reason: reason.trim() }
  const done = {
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(name) }),
  }
  const request = useMutation({
    mutationFn: () => requestChange(name, body).then(() => announce('The change is requested.')),
    ...done,
  })
  const glass = useMutation({
    mutationFn: () => breakGlass(name, body).then(() => announce('The change is made. An alert was raised.')),
    ...done,
  })
  const missing = body.reason === '' ? 'Enter a reason first.' : null
  const error = request.error ?? glass.error
  return (
    <Modal opened onClose={onClose} title={`${CHANGES[kind]}: ${name} is governed`}>
      <Stack gap="md" component="form" onSubmit={(event) => event.preventDefault()}>
        <Text size="sm">{refusal.message}</Text>
        <ReasonField
          description="Shown to the users who approve the change"
          value={reason}
          onChange={setReason}
          focused
        />
        {error && <ErrorNote error={error} />}
        <ShowCall call={requestCall(name, body)} subject="Request change" />
        <Group justify="flex-end" gap="xs">
          {admin && (
            <ReasonButton
              color="red.8"
              reason={missing}
              loading={glass.isPending}
              onClick={() => glass.mutate()}
            >
              Break glass
            </ReasonButton>
          )}
          <ReasonButton reason={missing} loading={request.isPending} onClick={() => request.mutate()}>
            Request change
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
