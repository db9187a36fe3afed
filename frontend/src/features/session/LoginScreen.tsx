import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useMutation, useQueryClient, type Query } from '@tanstack/react-query'
import { useEffect, type SubmitEvent } from 'react'
import { keys } from '@/api/keys'
import { logIn } from '@/api/session'
import icon from '@/assets/icon.svg'
import { refusal } from '@/api/problem'
import type { Session } from '@/api/types'
import { ErrorNote } from '@/components/ui/Feedback'
import { ProviderButton } from './ProviderButton'
import classes from './login.module.css'

/** The login. `lastUser` is set when a session has expired and its page still stands underneath. */
export function LoginScreen({ session, lastUser }: { session: Session; lastUser: string | null }) {
  const client = useQueryClient()
  const login = useMutation({
    mutationFn: ({ username, password }: { username: string; password: string }) => logIn(username, password),
    onSuccess: (begun) => {
      const everythingElse = { predicate: ({ queryKey }: Query) => queryKey[0] !== keys.session[0] }
      client.setQueryData(keys.session, begun)
      if (begun.user === lastUser) void client.invalidateQueries(everythingElse)
      else client.removeQueries(everythingElse)
    },
  })
  useEffect(() => {
    if (lastUser === null) document.title = 'Log in · Headgate'
  }, [lastUser])

  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    login.mutate({ username: String(form.get('username')), password: String(form.get('password')) })
  }
  return (
    <main className={classes.screen}>
      <form className={classes.card} onSubmit={submit}>
        <div className={classes.brand}>
          <img src={icon} width={34} height={34} alt="" />
          <h1 className={classes.title}>Headgate</h1>
        </div>
        <p className={classes.text}>
          {lastUser === null
            ? 'Log in to view and control pipelines.'
            : 'Your session has ended. Log in to continue where you were.'}
        </p>
        {login.error ? (
          <ErrorNote error={login.error} />
        ) : (
          session.problem && <ErrorNote error={refusal(session.problem)} />
        )}
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
    </main>
  )
}
