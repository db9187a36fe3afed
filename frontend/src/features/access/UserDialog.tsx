import { NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { createUser } from '@/api/tokens'
import type { UserRequest } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { FormDialog } from '@/components/ui/FormDialog'
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
    <FormDialog title="Create user" submit="Create user" reason={reason} sending={creation} onClose={onClose}>
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
    </FormDialog>
  )
}
