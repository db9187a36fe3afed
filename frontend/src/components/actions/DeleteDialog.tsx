import { Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { deletePipeline } from '@/api/pipelines'
import type { Pipeline } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { deleteCall } from '@/domain/calls'
import { ShowCall } from './ShowCall'

interface DeleteDialogProps {
  pipeline: Pick<Pipeline, 'name' | 'etag'>
  onDeleted: () => void
  onClose: () => void
}

/** Deleting asks for the typed name. It archives: the ledger and the positions are kept, the name becomes free. */
export function DeleteDialog({ pipeline: { name, etag }, onDeleted, onClose }: DeleteDialogProps) {
  const client = useQueryClient()
  const [typed, setTyped] = useState('')
  const removal = useMutation({
    mutationFn: () => deletePipeline(name, etag),
    onSuccess: () => {
      client.setQueryData<Pipeline[]>(keys.pipelines, (list) => list?.filter((row) => row.name !== name))
      announce(`${name} was deleted.`)
      onDeleted()
    },
  })
  return (
    <Modal opened onClose={onClose} title={`Delete ${name}?`}>
      <Stack gap="md" component="form" onSubmit={(event) => event.preventDefault()}>
        <Text size="sm">
          The pipeline leaves the list and its name becomes free. Its ledger, positions and events are kept in
          the archive until an administrator purges them.
        </Text>
        <TextInput
          label={`Type ${name} to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        {removal.error && <ErrorNote error={removal.error} />}
        <ShowCall call={deleteCall(name)} subject="Delete" />
        <Group justify="flex-end" gap="xs">
          <ReasonButton variant="default" onClick={onClose}>
            Keep it
          </ReasonButton>
          <ReasonButton
            color="red.8"
            type="submit"
            loading={removal.isPending}
            reason={typed === name ? null : 'Type the name first.'}
            onClick={() => removal.mutate()}
          >
            Delete
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
