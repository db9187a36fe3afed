import { Group, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { ReasonButton } from '@/components/ui/ReasonButton'

interface ConfirmByNameProps {
  name: string
  /** The words on the two buttons. */
  keep: string
  act: string
  /** Why it cannot be done even with the name typed. */
  blocked?: string | null
  pending: boolean
  onAct: () => void
  onClose: () => void
  /** Shown between the name and the buttons. */
  children?: ReactNode
}

/** What cannot be undone asks for the typed name. */
export function ConfirmByName({
  name,
  keep,
  act,
  blocked,
  pending,
  onAct,
  onClose,
  children,
}: ConfirmByNameProps) {
  const [typed, setTyped] = useState('')
  return (
    <Stack gap="md" component="form" onSubmit={(event) => event.preventDefault()}>
      <TextInput
        label={`Type ${name} to confirm`}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      {children}
      <Group justify="flex-end" gap="xs">
        <ReasonButton variant="default" onClick={onClose}>
          {keep}
        </ReasonButton>
        <ReasonButton
          type="submit"
          color="red.8"
          loading={pending}
          reason={blocked ?? (typed === name ? null : 'Type the name first.')}
          onClick={onAct}
        >
          {act}
        </ReasonButton>
      </Group>
    </Stack>
  )
}
