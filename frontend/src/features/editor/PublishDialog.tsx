import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { ShowCall } from '@/components/actions/ShowCall'
import { DefinitionChanges } from '@/components/revisions/DefinitionChanges'
import { ChangeError } from '@/components/governance/ChangeError'
import { publishCall } from '@/domain/calls'

interface PublishDialogProps {
  name: string
  current: string
  text: string
  note: string
  onNote: (note: string) => void
  publish: { mutate: () => void; isPending: boolean; error: Error | null }
  onClose: () => void
}

/** What the new revision changes, before it is published. */
export function PublishDialog({ name, current, text, note, onNote, publish, onClose }: PublishDialogProps) {
  return (
    <Modal opened onClose={onClose} title={`Review changes of ${name}`} size="80rem">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          publish.mutate()
        }}
      >
        <DefinitionChanges name={name} current={current} text={text} />
        <TextInput
          label="Note"
          description="What changes, and why. The note stays with the revision."
          value={note}
          onChange={(event) => onNote(event.currentTarget.value)}
          data-autofocus
        />
        {publish.error && (
          <ChangeError
            error={publish.error}
            name={name}
            kind="publish"
            arguments={{ definition: text, note }}
          />
        )}
        <ShowCall call={publishCall(name)} subject="Publish" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Back to the editor
          </Button>
          <Button type="submit" loading={publish.isPending}>
            Publish revision
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
