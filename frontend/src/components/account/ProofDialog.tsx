import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, type SubmitEvent } from 'react'
import { hooks } from '@/api/client'
import { keys } from '@/api/keys'
import { askPasskey, byCode, proveSession, signIn } from '@/api/session'
import type { Session } from '@/api/types'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { canUsePasskeys } from '@/lib/passkeys'
import { leave } from '@/lib/session'

/** Other dialogs and the set-up of a second factor may be open. */
const ABOVE_ALL = 500

/** Asks the user for a proof while a dangerous request waits, and lets it go on or fail. */
export function ProofGate({ session }: { session: Session }) {
  const [settle, setSettle] = useState<((proven: boolean) => void) | null>(null)
  useEffect(() => {
    let waiting: Promise<boolean> | null = null
    hooks.prove = () => {
      waiting ??= new Promise<boolean>((resolve) => setSettle(() => resolve)).finally(() => (waiting = null))
      return waiting
    }
    return () => {
      hooks.prove = () => Promise.resolve(false)
    }
  }, [])
  const end = (proven: boolean) => {
    settle?.(proven)
    setSettle(null)
  }
  if (!settle) return null
  return (
    <Modal opened onClose={() => end(false)} title="Confirm that it is you" zIndex={ABOVE_ALL}>
      <Stack gap="md">
        <Text size="sm">This action needs a recent log-in.</Text>
        {session.proof === 'provider' ? (
          <AtProvider onCancel={() => end(false)} />
        ) : (
          <ByPassword session={session} onEnd={end} />
        )}
      </Stack>
    </Modal>
  )
}

function AtProvider({ onCancel }: { onCancel: () => void }) {
  const begin = useMutation({
    mutationFn: () => signIn(window.location.pathname + window.location.search, true),
    onSuccess: leave,
  })
  return (
    <>
      <Text size="sm">
        Sign in again at the provider. You come back to this page; then repeat the action.
      </Text>
      {begin.error && <ErrorNote error={begin.error} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button loading={begin.isPending} onClick={() => begin.mutate()} data-autofocus>
          Sign in again
        </Button>
      </Group>
    </>
  )
}

function ByPassword({ session, onEnd }: { session: Session; onEnd: (proven: boolean) => void }) {
  const client = useQueryClient()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const proof = useMutation({
    mutationFn: async (by: 'code' | 'passkey') =>
      proveSession(password, by === 'passkey' ? await askPasskey() : byCode(code)),
    onSuccess: (proven) => {
      client.setQueryData(keys.session, proven)
      onEnd(true)
    },
  })
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    proof.mutate('code')
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <PasswordInput
          label="Password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          required
          withAsterisk={false}
          visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password', tabIndex: 0 }}
          data-autofocus
        />
        {session.proof === 'password_and_code' && (
          <TextInput
            label="Code"
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            autoComplete="one-time-code"
            required
            withAsterisk={false}
          />
        )}
        {proof.error && <ErrorNote error={proof.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={() => onEnd(false)}>
            Cancel
          </Button>
          {session.passkeys && canUsePasskeys() && (
            <ReasonButton
              variant="default"
              reason={password === '' ? 'Enter the password first.' : null}
              onClick={() => proof.mutate('passkey')}
            >
              Use passkey
            </ReasonButton>
          )}
          <Button type="submit" loading={proof.isPending}>
            Confirm
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
