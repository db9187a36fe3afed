import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { StopBody } from '@/api/types'
import { actionCall } from '@/domain/calls'
import { ShowCall } from './ShowCall'

interface StopDialogProps {
  name: string
  onConfirm: (body: StopBody) => void
  onClose: () => void
}

type How = 'drain' | 'try' | 'now'

const BODIES: Record<How, StopBody> = {
  drain: { drain: true },
  try: { drain: true, on_timeout: 'abort' },
  now: { drain: false },
}

const BUTTONS: Record<How, string> = { drain: 'Drain and stop', try: 'Drain and stop', now: 'Stop now' }

/** A stop ends the process, so it takes one click more, and the choice of how. */
export function StopDialog({ name, onConfirm, onClose }: StopDialogProps) {
  const [how, setHow] = useState<How>('drain')
  return (
    <Modal opened onClose={onClose} title={`Stop ${name}?`}>
      <Stack gap="md">
        <Text size="sm">
          The process ends. Positions and books stay, and the next start goes on exactly where this run
          stopped.
        </Text>
        <Radio.Group value={how} onChange={(value) => setHow(value as How)} label="How">
          <Stack gap={10} mt={6}>
            <Radio
              value="drain"
              label="Drain, then stop"
              description="The batch in hand is delivered first. The clock of the stop runs only after the drain timeout."
            />
            <Radio
              value="try"
              label="Drain, or go on as it was"
              description="If the batch in hand has not ended at the drain timeout, the stop is given up."
            />
            <Radio
              value="now"
              label="Stop now"
              description="No waiting for the batch in hand: what was not acknowledged is read again by the next run."
            />
          </Stack>
        </Radio.Group>
        <ShowCall call={actionCall(name, 'stop', BODIES[how])} subject="Stop" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep it going
          </Button>
          <Button color="red.8" onClick={() => onConfirm(BODIES[how])} data-autofocus>
            {BUTTONS[how]}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
