import { Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { deletePipeline } from '@/api/pipelines'
import type { Pipeline } from '@/api/types'
import { ChangeError } from '@/components/governance/ChangeError'
import { announce } from '@/components/ui/Announcer'
import { deleteCall } from '@/domain/calls'
import { ConfirmByName } from './ConfirmByName'
import { ShowCall } from './ShowCall'

interface DeleteDialogProps {
  pipeline: Pick<Pipeline, 'name' | 'etag'>
  onDeleted: () => void
  onClose: () => void
}

/** Deleting asks for the typed name. It archives: the ledger and the positions are kept, the name becomes free. */
export function DeleteDialog({ pipeline: { name, etag }, onDeleted, onClose }: DeleteDialogProps) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deletePipeline(name, etag),
    onSuccess: () => {
      client.setQueryData<Pipeline[]>(keys.pipelines, (list) => list?.filter((row) => row.name !== name))
      announce(`${name} is deleted.`)
      onDeleted()
    },
  })
  return (
    <Modal opened onClose={onClose} title={`Delete ${name}?`}>
      <Stack gap="md">
        <Text size="sm">
          The pipeline is removed from the list and its name becomes available. Its ledger, positions and
          events stay in the archive until an administrator purges them.
        </Text>
        <ConfirmByName
          name={name}
          keep="Keep pipeline"
          act="Delete pipeline"
          pending={removal.isPending}
          onAct={() => removal.mutate()}
          onClose={onClose}
        >
          {removal.error && <ChangeError error={removal.error} name={name} kind="delete" arguments={{}} />}
          <ShowCall call={deleteCall(name)} subject="Delete pipeline" />
        </ConfirmByName>
      </Stack>
    </Modal>
  )
}
