import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { findingsOf, unplaced } from '@/domain/findings'
import { useFrozen } from '@/lib/session'
import { ErrorNote } from './Feedback'
import { ReasonButton } from './ReasonButton'

interface FormDialogProps {
  title: string
  submit: string
  /** Why it cannot be sent; null where it can. */
  reason: string | null
  size?: string
  /** It can be sent although the installation is read-only. */
  whileReadOnly?: boolean
  /** Paths of the findings that stand at fields. */
  placed?: readonly string[]
  /** Shown below what is wrong: the same as a call of the API. */
  call?: ReactNode
  sending: { mutate: () => void; isPending: boolean; error: Error | null }
  onClose: () => void
  children: ReactNode
}

const NONE: readonly string[] = []

/** A dialog with fields, what is wrong with them, and the buttons that cancel and send. */
export function FormDialog({
  title,
  submit,
  reason: unready,
  size,
  whileReadOnly = false,
  placed = NONE,
  call,
  sending,
  onClose,
  children,
}: FormDialogProps) {
  const frozen = useFrozen()
  const reason = (whileReadOnly ? null : frozen) ?? unready
  return (
    <Modal opened onClose={onClose} title={title} size={size}>
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (reason === null) sending.mutate()
        }}
      >
        {children}
        {sending.error && <Refusal error={sending.error} placed={placed} />}
        {call}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton type="submit" loading={sending.isPending} reason={reason}>
            {submit}
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}

/** What is wrong: each finding that stands at no field, or the error where there are no findings. */
function Refusal({ error, placed }: { error: Error; placed: readonly string[] }) {
  const findings = findingsOf(error)
  if (findings.length === 0) return <ErrorNote error={error} />
  return unplaced(findings, placed).map(({ path, code, message, suggestion }) => (
    <Text key={`${path} ${code} ${message}`} size="sm" role="alert">
      {path && `${path}: `}
      {message} {suggestion}
    </Text>
  ))
}
