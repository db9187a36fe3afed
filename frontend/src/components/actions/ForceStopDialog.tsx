import { ChangeError } from '@/components/governance/ChangeError'
import { Modal, Stack, Text } from '@mantine/core'
import type { Pipeline } from '@/api/types'
import { actionCall } from '@/domain/calls'
import { refusal } from './allowed'
import { ConfirmByName } from './ConfirmByName'
import { ShowCall } from './ShowCall'
import { useAction } from './useAction'

interface ForceStopProps {
  pipeline: Pick<Pipeline, 'name' | 'allowed_actions'>
  onClose: () => void
}

/** Kills the processes at once; the server says what comes of it, and the typed name is asked for. */
export function ForceStopDialog({ pipeline, onClose }: ForceStopProps) {
  const { name } = pipeline
  const stop = useAction(name)
  return (
    <Modal opened onClose={onClose} title={`Force stop ${name}?`}>
      <Stack gap="md">
        <Text size="sm">
          {consequenceOf(pipeline)} The stacks of all threads are recorded first and stay with the run.
        </Text>
        <ConfirmByName
          name={name}
          keep="Keep running"
          act="Force stop"
          blocked={refusal(pipeline, 'force-stop')}
          pending={stop.isPending}
          onAct={() => stop.mutate({ kind: 'force-stop' }, { onSuccess: onClose })}
          onClose={onClose}
        >
          {stop.error && <ChangeError error={stop.error} name={name} kind="force-stop" arguments={{}} />}
          <ShowCall call={actionCall(name, 'force-stop')} subject="Force stop" />
        </ConfirmByName>
      </Stack>
    </Modal>
  )
}

function consequenceOf({ allowed_actions }: Pick<Pipeline, 'allowed_actions'>): string {
  return allowed_actions.find(({ name }) => name === 'force-stop')?.consequence ?? ''
}
