import { Button, Group, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type SubmitEvent } from 'react'
import { addPasskey, removePasskey } from '@/api/account'
import { keys } from '@/api/keys'
import type { SecondFactor } from '@/api/types'
import { RecoveryCodes } from '@/components/account/RecoveryCodes'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { Moment } from '@/components/ui/Time'
import { canUsePasskeys } from '@/lib/passkeys'
import classes from './account.module.css'

/** Passkeys of the user, and one more. */
export function PasskeyList({ factor }: { factor: SecondFactor }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [codes, setCodes] = useState<string[]>([])
  const refresh = () => {
    void client.invalidateQueries({ queryKey: keys.secondFactor })
    void client.invalidateQueries({ queryKey: keys.session })
  }
  const addition = useMutation({
    mutationFn: addPasskey,
    onSuccess: (made) => {
      announce(`The passkey ${name} is added.`)
      setName('')
      setCodes(made.codes)
      if (made.codes.length === 0) refresh()
    },
  })
  const removal = useMutation({ mutationFn: removePasskey, onSuccess: refresh })
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    addition.mutate(name)
  }
  const done = () => {
    setCodes([])
    refresh()
  }
  if (codes.length > 0) return <RecoveryCodes codes={codes} onDone={done} />
  const error = addition.error ?? removal.error
  return (
    <>
      <Text size="sm" mb="md">
        A security key or your device replaces the code. It works at this address alone.
      </Text>
      {error && <ErrorNote error={error} />}
      {factor.passkeys.map(({ id, name: called, created_at }) => (
        <div key={id} className={classes.passkey}>
          <span>{called}</span>
          <span className="dim">
            added <Moment at={created_at} />
          </span>
          <Button variant="default" loading={removal.isPending} onClick={() => removal.mutate(id)}>
            Remove passkey {called}
          </Button>
        </div>
      ))}
      {factor.passkeys_available && canUsePasskeys() ? (
        <form onSubmit={submit}>
          <Group align="flex-end" gap="xs" mt="md">
            <TextInput
              label="Name of the new passkey"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              maxLength={60}
              required
              withAsterisk={false}
              autoComplete="off"
            />
            <Button type="submit" loading={addition.isPending}>
              Add passkey
            </Button>
          </Group>
        </form>
      ) : (
        <Text size="sm" c="dimmed">
          Passkeys need HTTPS, a host name in HEADGATE_PUBLIC_URL and a browser that knows them.
        </Text>
      )}
    </>
  )
}
