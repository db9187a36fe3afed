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

const ESCALATE = 'The in-flight batch is delivered first. The stop escalates only after the drain timeout.'

const ABORT = (what: string) => ({
  label: 'Drain, or continue running',
  description: `If the in-flight batch is not finished at the drain timeout, the ${what} is cancelled.`,
})

interface Ending {
  words: string
  ways: WayList<Way<StopBody | RestartBody> & { button: string }>
}

const ENDINGS: Record<EndDialogProps['kind'], Ending> = {
  stop: {
    words:
      'The process ends. Positions and ledger stay, and the next start resumes at the exact offset where this run stopped.',
    ways: [
      { label: 'Drain, then stop', description: ESCALATE, body: { drain: true }, button: 'Drain and stop' },
      { ...ABORT('stop'), body: { drain: true, on_timeout: 'abort' }, button: 'Drain and stop' },
      {
        label: 'Stop now',
        description: 'The in-flight batch is cancelled. The next run rereads what was not acknowledged.',
        body: { drain: false },
        button: 'Stop now',
      },
    ],
  },
  restart: {
    words: 'The process ends, and a new one resumes at the exact offset where it stopped.',
    ways: [
      { ...ABORT('restart'), body: { on_timeout: 'abort' }, button: 'Restart' },
      { label: 'Drain, then stop', description: ESCALATE, body: { on_timeout: 'stop' }, button: 'Restart' },
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
            Keep running
          </Button>
          <Button color="red.8" onClick={() => onConfirm(body)} data-autofocus>
            {button}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
