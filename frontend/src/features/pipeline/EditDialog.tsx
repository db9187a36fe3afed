import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { editPipeline, fetchPipeline } from '@/api/pipelines'
import { Problem } from '@/api/problem'
import type { PipelineDetail } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ErrorNote } from '@/components/ui/Feedback'
import { editCall } from '@/domain/calls'
import { parseLabels, printLabels } from './labels'

/** Description and labels. Two users at once: the second is shown what the first wrote, and chooses. */
export function EditDialog({ pipeline, onClose }: { pipeline: PipelineDetail; onClose: () => void }) {
  const client = useQueryClient()
  const { name } = pipeline
  const [base, setBase] = useState(pipeline)
  const [description, setDescription] = useState(pipeline.description)
  const [labelText, setLabelText] = useState(printLabels(pipeline.labels))
  const labels = parseLabels(labelText)
  const fields = { description, labels: labels.value }
  const save = useMutation({
    mutationFn: () => editPipeline(name, base.etag, fields),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.pipeline(name) })
      void client.invalidateQueries({ queryKey: keys.pipelines })
      onClose()
    },
  })
  const theirs = useMutation({
    mutationFn: () => fetchPipeline(name),
    onSuccess: (now) => {
      setBase(now)
      save.reset()
    },
  })
  const conflict = save.error instanceof Problem && save.error.status === 412
  return (
    <Modal opened onClose={onClose} title={`Edit ${name}`}>
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!labels.error) save.mutate()
        }}
      >
        <Textarea
          size="xs"
          label="Description"
          autosize
          minRows={2}
          maxRows={6}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
          data-autofocus
        />
        <TextInput
          label="Labels"
          description="Separated by spaces, each as key:value"
          value={labelText}
          error={labels.error}
          onChange={(event) => setLabelText(event.currentTarget.value)}
        />
        {conflict ? (
          <Conflict onTake={() => theirs.mutate()} />
        ) : (
          save.error && <ErrorNote error={save.error} />
        )}
        {base !== pipeline && (
          <Text size="sm" c="dimmed">
            On the server now: “{base.description || 'no description'}”, labels{' '}
            {printLabels(base.labels) || 'none'}. Saving replaces these values with yours.
          </Text>
        )}
        <ShowCall call={editCall(name, base.etag, fields)} subject="Edit" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

function Conflict({ onTake }: { onTake: () => void }) {
  return (
    <Group role="alert" justify="space-between" wrap="nowrap">
      <Text size="sm">Another user changed this pipeline after you opened it. Nothing was saved.</Text>
      <Button variant="default" onClick={onTake} style={{ flex: 'none' }}>
        Show current values
      </Button>
    </Group>
  )
}
