import { Text } from '@mantine/core'
import { useState } from 'react'
import { setReadOnly } from '@/api/installation'
import { keys } from '@/api/keys'
import type { ReadOnlyMode } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { ReasonField } from '@/components/ui/ReasonField'
import { setReadOnlyCall } from '@/domain/installationCalls'

interface ReadOnlyDialogProps {
  mode: ReadOnlyMode
  onClose: () => void
}

/** Turns the mode on or off, with a reason. */
export function ReadOnlyDialog({ mode, onClose }: ReadOnlyDialogProps) {
  const [reason, setReason] = useState('')
  const on = !mode.read_only
  const body = { read_only: on, reason: reason.trim() }
  const title = on ? 'Make the installation read-only' : 'Make the installation writable'
  const sending = useSending({
    send: () => setReadOnly(body, mode.etag),
    queryKey: keys.readOnly,
    done: () => (on ? 'The installation is read-only.' : 'The installation is writable.'),
    onClose,
  })
  return (
    <FormDialog
      title={`${title}?`}
      submit={on ? 'Make read-only' : 'Make writable'}
      reason={body.reason ? null : 'Enter a reason first.'}
      whileReadOnly
      call={<ShowCall call={setReadOnlyCall(body)} subject={title} />}
      sending={sending}
      onClose={onClose}
    >
      <Text size="sm">
        {on
          ? 'All users of all teams see why, and can start, change and publish nothing. Pipelines and migrations under way continue. Stops, pauses, cancellations and roll-backs are possible.'
          : 'All users can change what their roles allow again.'}
      </Text>
      <ReasonField
        description="Shown to every user, and stays in the audit log"
        value={reason}
        onChange={setReason}
        focused
      />
    </FormDialog>
  )
}
