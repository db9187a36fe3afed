import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { actionCall } from '@/domain/calls'
import { ShowCall } from './ShowCall'

interface StopDialogProps {
  name: string
  onConfirm: (drain: boolean) => void
  onClose: () => void
}

/** A stop ends the process, so it takes one click more, and the choice of how. */
export function StopDialog({ name, onConfirm, onClose }: StopDialogProps) {
  const [drain, setDrain] = useState(true)
  return (
    <Modal opened onClose={onClose} title={`Stop ${name}?`}>
      <Stack gap="md">
        <Text size="sm">
          The process ends. Positions and books stay, and the next start goes on exactly where this run
          stopped.
        </Text>
        <Radio.Group
          value={drain ? 'drain' : 'now'}
          onChange={(value) => setDrain(value === 'drain')}
          label="How"
        >
          <Stack gap={10} mt={6}>
            <Radio
              value="drain"
              label="Drain, then stop"
              description="The batch in hand is delivered first. The clock of the stop runs only after the drain timeout."
            />
            <Radio
              value="now"
              label="Stop now"
              description="No waiting for the batch in hand: what was not acknowledged is read again by the next run."
            />
          </Stack>
        </Radio.Group>
        <ShowCall call={actionCall(name, 'stop', { drain })} subject="Stop" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep it going
          </Button>
          <Button color="red.8" onClick={() => onConfirm(drain)} data-autofocus>
            {drain ? 'Drain and stop' : 'Stop now'}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
