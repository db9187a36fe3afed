import { Button, Group, Modal, NativeSelect, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { createUser } from '@/api/tokens'
import type { UserRequest } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ROLE_OPTIONS } from '@/domain/roles'

/** Creates a user: a person with a password, or without one a program that holds tokens. */
export function UserDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [username, setUsername] = useState('')
  const [role, setRole] = useState<NonNullable<UserRequest['role']>>('viewer')
  const [password, setPassword] = useState('')
  const creation = useMutation({
    mutationFn: () => createUser({ username: username.trim(), role, team: null, password: password || null }),
    onSuccess: (user) => {
      void client.invalidateQueries({ queryKey: keys.users })
      announce(`${user.username} is created.`)
      onClose()
    },
  })
  const reason = username.trim() === '' ? 'Enter a name first.' : null
  return (
    <Modal opened onClose={onClose} title="Create user">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (reason === null) creation.mutate()
        }}
      >
        <TextInput
          label="Username"
          value={username}
          maxLength={150}
          autoComplete="off"
          onChange={(event) => setUsername(event.currentTarget.value)}
          data-autofocus
        />
        <NativeSelect
          label="Role"
          data={ROLE_OPTIONS}
          value={role}
          onChange={(event) => setRole(event.currentTarget.value as NonNullable<UserRequest['role']>)}
        />
        <PasswordInput
          label="Password"
          description="Leave it empty for a program, which uses tokens, or for a user who signs in at a provider."
          value={password}
          autoComplete="new-password"
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {creation.error && <ErrorNote error={creation.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton type="submit" loading={creation.isPending} reason={reason}>
            Create user
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
