import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import type { DeadLetterDetail } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ErrorNote } from '@/components/ui/Feedback'
import { replayCall } from '@/domain/calls'
import { useReplay } from './useReplay'

interface RepairProps {
  name: string
  deadLetter: DeadLetterDetail
  onDone: () => void
  onClose: () => void
}

/** One dead letter back to its source, as it was or with another body. */
export function RepairDialog({ name, deadLetter, onDone, onClose }: RepairProps) {
  const editable = deadLetter.body !== null && !deadLetter.truncated
  const [body, setBody] = useState(deadLetter.body ?? '')
  const replay = useReplay(name, onDone)
  const request =
    editable && body !== deadLetter.body
      ? { repair: { id: deadLetter.id, body, body_base64: null, headers: null } }
      : { ids: [deadLetter.id] }
  return (
    <Modal opened onClose={onClose} title="Retry this dead letter?" size="lg">
      <Stack gap="md">
        <Text size="sm">
          Headgate sends it as a new record of {deadLetter.topic}, through all interceptors, to every channel
          that {deadLetter.source} feeds.
        </Text>
        {editable ? (
          <Textarea
            label="Body"
            description="Correct the body, or send it unchanged"
            autosize
            minRows={4}
            maxRows={16}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
            spellCheck={false}
            data-autofocus
          />
        ) : (
          <Text size="sm" c="dimmed">
            The body is {deadLetter.truncated ? 'too long' : 'not text'}. It cannot be edited here and is sent
            unchanged. <code>headgate dead-letters retry --body FILE</code> sends another one.
          </Text>
        )}
        {replay.error && <ErrorNote error={replay.error} />}
        <ShowCall call={replayCall(name, request)} subject="Retry dead letter" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={replay.isPending} onClick={() => replay.mutate(request)}>
            {'repair' in request ? 'Edit and retry' : 'Retry dead letter'}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
