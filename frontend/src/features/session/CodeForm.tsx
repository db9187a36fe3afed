import { Button, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { SubmitEvent } from 'react'
import { keys } from '@/api/keys'
import { askPasskey, byCode, takeSecondStep, type SecondStep } from '@/api/session'
import type { Session } from '@/api/types'
import { ErrorNote } from '@/components/ui/Feedback'
import { canUsePasskeys } from '@/lib/passkeys'
import { logOut } from '@/lib/session'
import classes from './login.module.css'

/** The second step of the log-in. */
export function CodeForm({
  session,
  onLoggedIn,
}: {
  session: Session
  onLoggedIn: (session: Session) => void
}) {
  const client = useQueryClient()
  const step = useMutation({
    mutationFn: async (given: SecondStep | 'passkey') =>
      takeSecondStep(given === 'passkey' ? await askPasskey() : given),
    onSuccess: onLoggedIn,
    // The log-in may have waited too long for its code; then the first step comes again.
    onError: () => void client.invalidateQueries({ queryKey: keys.session }),
  })
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    step.mutate(byCode(String(new FormData(event.currentTarget).get('code'))))
  }
  return (
    <form className={classes.fields} onSubmit={submit}>
      {step.error && <ErrorNote error={step.error} />}
      <TextInput
        name="code"
        label="Code"
        description="Six digits of your authenticator application, or a recovery code"
        size="sm"
        autoComplete="one-time-code"
        spellCheck={false}
        required
        withAsterisk={false}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the screen has no other purpose than this form
        autoFocus
      />
      <Button type="submit" size="sm" loading={step.isPending}>
        Log in
      </Button>
      {session.passkeys && canUsePasskeys() && (
        <Button variant="default" size="sm" onClick={() => step.mutate('passkey')}>
          Use passkey
        </Button>
      )}
      <Button variant="subtle" size="sm" onClick={() => void logOut()}>
        Start over
      </Button>
    </form>
  )
}
