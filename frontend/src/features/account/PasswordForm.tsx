import { Checkbox, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { changePassword } from '@/api/session'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'

/** Changes the own password. */
export function PasswordForm() {
  const client = useQueryClient()
  const [present, setPresent] = useState('')
  const [wanted, setWanted] = useState('')
  const [keepTokens, setKeepTokens] = useState(false)
  const change = useMutation({
    mutationFn: () => changePassword({ present, wanted, keep_tokens: keepTokens }),
    onSuccess: (session) => {
      client.setQueryData(keys.session, session)
      void client.invalidateQueries({ queryKey: keys.tokens })
      setPresent('')
      setWanted('')
      announce('The password is changed.')
    },
  })
  const reason = present === '' || wanted === '' ? 'Enter both passwords first.' : null
  return (
    <Stack
      gap="md"
      component="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (reason === null) change.mutate()
      }}
    >
      <PasswordInput
        label="Present password"
        value={present}
        autoComplete="current-password"
        onChange={(event) => setPresent(event.currentTarget.value)}
      />
      <PasswordInput
        label="New password"
        value={wanted}
        autoComplete="new-password"
        onChange={(event) => setWanted(event.currentTarget.value)}
      />
      <Checkbox
        label="Keep my tokens valid"
        description="Without this, programs that use your tokens stop working. Other sessions end in any case."
        checked={keepTokens}
        onChange={(event) => setKeepTokens(event.currentTarget.checked)}
      />
      {change.error && <ErrorNote error={change.error} />}
      {change.isSuccess && (
        <Text size="sm">The password is changed, and your other sessions have ended.</Text>
      )}
      <Group>
        <ReasonButton type="submit" loading={change.isPending} reason={reason}>
          Change password
        </ReasonButton>
      </Group>
    </Stack>
  )
}
