import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { RestartBody, StopBody } from '@/api/types'
import { actionCall } from '@/domain/calls'
import { ShowCall } from './ShowCall'
import { Ways, type Way, type WayList } from './Ways'
import { ACTION_WORDS } from './words'

interface EndDialogProps {
  name: string
  kind: 'stop' | 'restart'
  onConfirm: (body: StopBody | RestartBody) => void
  onClose: () => void
}

const CLIMB = 'The batch in hand is delivered first. The clock of the stop runs only after the drain timeout.'

const GIVE_UP = (what: string) => ({
  label: 'Drain, or go on as it was',
  description: `If the batch in hand has not ended at the drain timeout, the ${what} is given up.`,
})

interface Ending {
  words: string
  ways: WayList<Way<StopBody | RestartBody> & { button: string }>
}

const ENDINGS: Record<EndDialogProps['kind'], Ending> = {
  stop: {
    words:
      'The process ends. Positions and books stay, and the next start goes on exactly where this run stopped.',
    ways: [
      { label: 'Drain, then stop', description: CLIMB, body: { drain: true }, button: 'Drain and stop' },
      { ...GIVE_UP('stop'), body: { drain: true, on_timeout: 'abort' }, button: 'Drain and stop' },
      {
        label: 'Stop now',
        description:
          'No waiting for the batch in hand: what was not acknowledged is read again by the next run.',
        body: { drain: false },
        button: 'Stop now',
      },
    ],
  },
  restart: {
    words: 'The process ends, and a new one goes on exactly where it stopped.',
    ways: [
      { ...GIVE_UP('restart'), body: { on_timeout: 'abort' }, button: 'Restart' },
      { label: 'Drain, then stop', description: CLIMB, body: { on_timeout: 'stop' }, button: 'Restart' },
    ],
  },
}

/** What ends the process takes one click more, and the choice of how. */
export function EndDialog({ name, kind, onConfirm, onClose }: EndDialogProps) {
  const { words, ways } = ENDINGS[kind]
  const [chosen, setChosen] = useState(ways[0])
  const { body, button } = chosen
  const { verb } = ACTION_WORDS[kind]
  return (
    <Modal opened onClose={onClose} title={`${verb} ${name}?`}>
      <Stack gap="md">
        <Text size="sm">{words}</Text>
        <Ways ways={ways} chosen={chosen} onChoose={setChosen} />
        <ShowCall call={actionCall(name, kind, { ...body })} subject={verb} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep it going
          </Button>
          <Button color="red.8" onClick={() => onConfirm(body)} data-autofocus>
            {button}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
