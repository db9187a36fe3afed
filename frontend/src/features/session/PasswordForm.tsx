import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { SubmitEvent } from 'react'
import { refusal } from '@/api/problem'
import { logIn } from '@/api/session'
import type { Session } from '@/api/types'
import { ErrorNote } from '@/components/ui/Feedback'
import classes from './login.module.css'
import { ProviderButton } from './ProviderButton'

interface PasswordFormProps {
  session: Session
  lastUser: string | null
  onLoggedIn: (session: Session) => void
}

/** The first step of the log-in, and the way to the provider. */
export function PasswordForm({ session, lastUser, onLoggedIn }: PasswordFormProps) {
  const login = useMutation({
    mutationFn: ({ username, password }: { username: string; password: string }) => logIn(username, password),
    onSuccess: onLoggedIn,
  })
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    login.mutate({ username: String(form.get('username')), password: String(form.get('password')) })
  }
  const error = login.error ?? (session.problem && refusal(session.problem))
  return (
    <form className={classes.fields} onSubmit={submit}>
      {error && <ErrorNote error={error} />}
      <TextInput
        name="username"
        label="User name"
        size="sm"
        autoComplete="username"
        defaultValue={lastUser ?? ''}
        required
        withAsterisk={false}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the screen has no other purpose than this form
        autoFocus
      />
      <PasswordInput
        name="password"
        label="Password"
        autoComplete="current-password"
        required
        withAsterisk={false}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password', tabIndex: 0 }}
      />
      <Button type="submit" size="sm" loading={login.isPending}>
        Log in
      </Button>
      {session.provider && <ProviderButton label={session.provider.button} />}
    </form>
  )
}
