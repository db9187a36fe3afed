import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorNote } from './Feedback'
import { ReasonButton } from './ReasonButton'

interface FormDialogProps {
  title: string
  submit: string
  /** Why it cannot be sent; null where it can. */
  reason: string | null
  size?: string
  /** Shown below what is wrong: the same as a call of the API. */
  call?: ReactNode
  sending: { mutate: () => void; isPending: boolean; error: Error | null }
  onClose: () => void
  children: ReactNode
}

/** A dialog with fields, what is wrong with them, and the buttons that cancel and send. */
export function FormDialog({
  title,
  submit,
  reason,
  size,
  call,
  sending,
  onClose,
  children,
}: FormDialogProps) {
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
        {sending.error && <ErrorNote error={sending.error} />}
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
