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
      announce(`Webhook ${webhook.id} is removed.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.webhooks }),
  })
  return (
    <Modal opened onClose={onClose} title={`Remove webhook ${webhook.id}?`}>
      <Stack gap="md">
        <Text size="sm">
          No further events are sent to {webhook.url}, and its deliveries are deleted. You can disable the
          webhook instead and enable it again later.
        </Text>
        {removal.error && <ErrorNote error={removal.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep webhook
          </Button>
          <Button color="red.8" loading={removal.isPending} onClick={() => removal.mutate()}>
            Remove webhook
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
