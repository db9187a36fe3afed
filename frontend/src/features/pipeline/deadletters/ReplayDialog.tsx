import { Button, Group, Modal, NumberInput, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { DeadLetterFilter } from '@/api/deadLetters'
import { ShowCall } from '@/components/actions/ShowCall'
import { ErrorNote } from '@/components/ui/Feedback'
import { replayCall } from '@/domain/calls'
import { useReplay } from './useReplay'

interface ReplayProps {
  name: string
  filter: DeadLetterFilter
  onClose: () => void
}

/** All new dead letters, or those of one cause, at a rate. */
export function ReplayDialog({ name, filter, onClose }: ReplayProps) {
  const [rate, setRate] = useState(100)
  const replay = useReplay(name, onClose)
  const { component = null, cause = null } = filter
  const request = { filter: { component, cause, source: null, since: null }, rate }
  return (
    <Modal opened onClose={onClose} title="Retry new dead letters?">
      <Stack gap="md">
        <Text size="sm">
          {cause || component
            ? `New dead letters of “${[component, cause].filter(Boolean).join(': ')}”`
            : 'All new dead letters'}
          , oldest first, at most 10,000. Each is sent as a new record through all interceptors to every
          channel that its source feeds. Fix the cause first.
        </Text>
        <NumberInput
          label="Records per second"
          min={0.1}
          max={1000}
          value={rate}
          onChange={(value) => setRate(Number(value))}
          data-autofocus
        />
        {replay.error && <ErrorNote error={replay.error} />}
        <ShowCall call={replayCall(name, request)} subject="Retry dead letters" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={replay.isPending} onClick={() => replay.mutate(request)}>
            Retry dead letters
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
