import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { keys } from '@/api/keys'
import type { Receiver } from '@/api/types'
import { deleteReceiver } from '@/api/receivers'
import { ErrorNote } from '@/components/ui/Feedback'
import { useSending } from '@/components/ui/useSending'

/** Deleting takes the list of its deliveries along; what waits is not sent. */
export function DeleteDialog({ receiver, onClose }: { receiver: Receiver; onClose: () => void }) {
  const deletion = useSending({
    send: () => deleteReceiver(receiver.id),
    queryKey: keys.receivers,
    done: () => `Receiver ${receiver.id} is deleted.`,
    onClose,
  })
  return (
    <Modal opened onClose={onClose} title={`Delete receiver ${receiver.id}?`}>
      <Stack gap="md">
        <Text size="sm">
          No further events are sent to {receiver.url || receiver.target}, and its deliveries are deleted. You
          can disable the receiver instead and enable it again later.
        </Text>
        {deletion.error && <ErrorNote error={deletion.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep receiver
          </Button>
          <Button color="red.8" loading={deletion.isPending} onClick={() => deletion.mutate()}>
            Delete receiver
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
