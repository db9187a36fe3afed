import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import type { Webhook } from '@/api/types'
import { deleteWebhook } from '@/api/webhooks'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'

/** Removing takes the list of its deliveries along; what waits is not sent. */
export function RemoveDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deleteWebhook(webhook.id),
    onSuccess: () => {
      announce(`Webhook ${webhook.id} was removed.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.webhooks }),
  })
  return (
    <Modal opened onClose={onClose} title={`Remove webhook ${webhook.id}?`}>
      <Stack gap="md">
        <Text size="sm">
          Nothing more is sent to {webhook.url}, and the list of its deliveries is deleted. Switched off
          instead, it can be switched on again.
        </Text>
        {removal.error && <ErrorNote error={removal.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep it
          </Button>
          <Button color="red.8" loading={removal.isPending} onClick={() => removal.mutate()}>
            Remove
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
