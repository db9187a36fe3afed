import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import type { Receiver } from '@/api/types'
import { deleteReceiver } from '@/api/receivers'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'

/** Removing takes the list of its deliveries along; what waits is not sent. */
export function RemoveDialog({ receiver, onClose }: { receiver: Receiver; onClose: () => void }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deleteReceiver(receiver.id),
    onSuccess: () => {
      announce(`Receiver ${receiver.id} is removed.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.receivers }),
  })
  return (
    <Modal opened onClose={onClose} title={`Remove receiver ${receiver.id}?`}>
      <Stack gap="md">
        <Text size="sm">
          No further events are sent to {receiver.url || receiver.target}, and its deliveries are deleted. You
          can disable the receiver instead and enable it again later.
        </Text>
        {removal.error && <ErrorNote error={removal.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep receiver
          </Button>
          <Button color="red.8" loading={removal.isPending} onClick={() => removal.mutate()}>
            Remove receiver
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
