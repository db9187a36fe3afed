import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { deleteSecret } from '@/api/secrets'
import type { Secret } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { secretUsers } from './users'

/** Deleting is for ever. While something refers to the secret it has to be forced, after the consequence was read. */
export function DeleteSecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const client = useQueryClient()
  const [force, setForce] = useState(false)
  const { name } = secret
  const users = secretUsers(secret)
  const removal = useMutation({
    mutationFn: () => deleteSecret(secret, force),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.secrets })
      announce(`${name} is deleted.`)
      onClose()
    },
  })
  const reason = users.length > 0 && !force ? 'The secret is in use. Confirm the consequence first.' : null
  return (
    <Modal opened onClose={onClose} title={`Delete ${name}?`}>
      <Stack gap="md">
        <Text size="sm">The value is deleted permanently.</Text>
        {users.length > 0 && (
          <Checkbox
            label={`Delete although used by ${users.join(', ')}`}
            description={consequence(secret)}
            checked={force}
            onChange={(event) => setForce(event.currentTarget.checked)}
          />
        )}
        {removal.error && <ErrorNote error={removal.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep secret
          </Button>
          <ReasonButton
            color="red.8"
            loading={removal.isPending}
            reason={reason}
            onClick={() => removal.mutate()}
          >
            Delete secret
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}

function consequence({ used_by, receivers }: Secret): string {
  return [
    used_by.length > 0 && 'Running pipelines keep the current value. Every later start is refused.',
    receivers.length > 0 && 'Receivers signed with it send nothing more.',
  ]
    .filter(Boolean)
    .join(' ')
}
