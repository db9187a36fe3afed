import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { acknowledgeAlert } from '@/api/alerts'
import { keys } from '@/api/keys'
import type { Alert } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
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
    <Modal opened onClose={onClose} title="Acknowledge alert">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          seen.mutate()
        }}
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
        {seen.error && <ErrorNote error={seen.error} />}
        <ShowCall call={acknowledgeCall(alert.id, note)} subject="Acknowledgement" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={seen.isPending}>
            Acknowledge alert
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
