import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { acknowledgeAlert } from '@/api/alerts'
import { keys } from '@/api/keys'
import type { Alert } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { acknowledgeCall } from '@/domain/calls'

/** Says that one has seen it and, for those who look next, what is being done. */
export function AcknowledgeDialog({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const [note, setNote] = useState('')
  const seen = useSending({
    send: () => acknowledgeAlert({ id: alert.id, note }),
    queryKey: keys.anyAlert,
    done: () => 'The alert is acknowledged.',
    onClose,
  })
  return (
    <FormDialog
      whileReadOnly
      title="Acknowledge alert"
      submit="Acknowledge alert"
      reason={null}
      call={<ShowCall call={acknowledgeCall(alert.id, note)} subject="Acknowledgement" />}
      sending={seen}
      onClose={onClose}
    >
      <Text size="sm">{alert.message}</Text>
      <TextInput
        label="Note"
        description="What is being done, for users who look next"
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        maxLength={1000}
        data-autofocus
      />
    </FormDialog>
  )
}
