import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { QueryKey } from '@tanstack/react-query'
import { ShowCall } from './ShowCall'
import { ErrorNote } from '@/components/ui/Feedback'
import { useSending } from '@/components/ui/useSending'
import type { Call } from '@/domain/calls'
import { useFrozen } from '@/lib/session'
import { ReasonButton } from '@/components/ui/ReasonButton'

interface RemovalDialogProps {
  title: string
  /** What is so afterwards. */
  words: string
  button: string
  call: Call
  remove: () => Promise<unknown>
  queryKey: QueryKey
  /** Said when it is done. */
  done: string
  /** A read-only installation takes it: it only takes something away from somebody. */
  whileReadOnly?: boolean
  onClose: () => void
}

/** Asks before a rule is taken away. */
export function RemovalDialog(props: RemovalDialogProps) {
  const { title, words, button, call, remove, queryKey, done, onClose } = props
  const frozen = useFrozen()
  const reason = props.whileReadOnly ? null : frozen
  const removal = useSending({
    send: remove,
    queryKey,
    done: () => done,
    onClose,
  })
  return (
    <Modal opened onClose={onClose} title={title}>
      <Stack gap="md">
        <Text size="sm">{words}</Text>
        {removal.error && <ErrorNote error={removal.error} />}
        <ShowCall call={call} subject={button} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep it
          </Button>
          <ReasonButton
            color="red.8"
            loading={removal.isPending}
            reason={reason}
            onClick={() => removal.mutate()}
          >
            {button}
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
