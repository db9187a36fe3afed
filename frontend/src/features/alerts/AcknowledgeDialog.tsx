import { Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { acknowledgeAlert } from '@/api/alerts'
import { keys } from '@/api/keys'
import type { Alert } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { FormDialog } from '@/components/ui/FormDialog'
import { acknowledgeCall } from '@/domain/calls'

/** Says that one has seen it and, for those who look next, what is being done. */
export function AcknowledgeDialog({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const client = useQueryClient()
  const [note, setNote] = useState('')
  const seen = useMutation({
    mutationFn: () => acknowledgeAlert({ id: alert.id, note }),
    onSuccess: () => {
      announce('The alert is acknowledged.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.anyAlert }),
  })
  return (
    <FormDialog
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
