import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { discardDeadLetters } from '@/api/deadLetters'
import { keys } from '@/api/keys'
import { ErrorNote } from '@/components/ui/Feedback'
import { useSending } from '@/components/ui/useSending'
import { ReasonField } from '@/components/ui/ReasonField'

interface DiscardProps {
  name: string
  id: string
  onDone: () => void
  onClose: () => void
}

/** Discarding a dead letter cannot be undone, so it asks for the reason. */
export function DiscardDialog({ name, id, onDone, onClose }: DiscardProps) {
  const [reason, setReason] = useState('')
  const discard = useSending({
    send: () => discardDeadLetters(name, [id], reason),
    queryKey: keys.pipeline(name),
    done: () => 'The dead letter is discarded.',
    onClose: onDone,
  })
  return (
    <Modal opened onClose={onClose} title="Discard this dead letter?">
      <Stack gap="md">
        <Text size="sm">It stays in the list until its retention ends, and cannot be retried.</Text>
        <ReasonField description="Stays in the audit log" value={reason} onChange={setReason} focused />
        {discard.error && <ErrorNote error={discard.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep dead letter
          </Button>
          <Button color="red.8" loading={discard.isPending} onClick={() => discard.mutate()}>
            Discard dead letter
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
