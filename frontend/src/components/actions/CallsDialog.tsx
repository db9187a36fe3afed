import { Modal, SegmentedControl, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ActionKind } from '@/api/types'
import { actionCall } from '@/domain/calls'
import { CallTabs } from './CallTabs'
import { ACTION_KINDS, ACTION_WORDS } from './words'

interface CallsDialogProps {
  name: string
  first: ActionKind
  onClose: () => void
}

/** The calls behind the buttons of one pipeline. */
export function CallsDialog({ name, first, onClose }: CallsDialogProps) {
  const [kind, setKind] = useState<ActionKind>(first)
  return (
    <Modal opened onClose={onClose} title="API call" size="lg">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          The equivalent of a button, for a terminal or a script. Set a token in <code>HEADGATE_TOKEN</code>.
        </Text>
        <SegmentedControl
          aria-label="Action"
          value={kind}
          onChange={(value) => setKind(value as ActionKind)}
          data={ACTION_KINDS.map((value) => ({ value, label: ACTION_WORDS[value].verb }))}
        />
        <CallTabs
          key={kind}
          call={actionCall(name, kind, kind === 'stop' ? { drain: true } : {})}
          subject={ACTION_WORDS[kind].verb}
        />
      </Stack>
    </Modal>
  )
}
