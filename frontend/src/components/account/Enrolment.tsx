import { Button, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type SubmitEvent } from 'react'
import { beginEnrolment, confirmEnrolment } from '@/api/account'
import { ErrorNote } from '@/components/ui/Feedback'
import { Copy } from '@/components/ui/CodeBlock'
import classes from './account.module.css'
import { RecoveryCodes } from './RecoveryCodes'

/** Sets up an authenticator application: scan, confirm by a code, keep the recovery codes. */
export function Enrolment({ onDone }: { onDone: () => void }) {
  const [code, setCode] = useState('')
  const begin = useMutation({ mutationFn: beginEnrolment })
  const confirm = useMutation({
    mutationFn: confirmEnrolment,
    onSuccess: ({ codes }) => {
      if (codes.length === 0) onDone() // a passkey was there before
    },
  })
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    confirm.mutate(code.trim())
  }
  if (confirm.data && confirm.data.codes.length > 0)
    return <RecoveryCodes codes={confirm.data.codes} onDone={onDone} />
  if (!begin.data) {
    return (
      <Stack gap="md" align="flex-start">
        {begin.error && <ErrorNote error={begin.error} />}
        <Button loading={begin.isPending} onClick={() => begin.mutate()}>
          Set up authenticator application
        </Button>
      </Stack>
    )
  }
  const { picture, secret } = begin.data
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <Text size="sm">Scan the picture with your authenticator application, or type the secret.</Text>
        <img className={classes.picture} src={picture} width={190} height={190} alt="Secret to scan" />
        <div className={classes.secret}>
          <code>{secret}</code>
          <Copy text={secret} label="Secret" />
        </div>
        <TextInput
          label="Code"
          description="Six digits that the application shows now"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          withAsterisk={false}
          data-autofocus
        />
        {confirm.error && <ErrorNote error={confirm.error} />}
        <Button type="submit" loading={confirm.isPending}>
          Confirm
        </Button>
      </Stack>
    </form>
  )
}
