import { useQueryClient, type Query } from '@tanstack/react-query'
import { useEffect } from 'react'
import { keys } from '@/api/keys'
import type { Session } from '@/api/types'
import icon from '@/assets/icon.svg'
import { CodeForm } from './CodeForm'
import classes from './login.module.css'
import { PasswordForm } from './PasswordForm'

/** The login. `lastUser` is set when a session has expired and its page still stands underneath. */
export function LoginScreen({ session, lastUser }: { session: Session; lastUser: string | null }) {
  const client = useQueryClient()
  const onLoggedIn = (begun: Session) => {
    const everythingElse = { predicate: ({ queryKey }: Query) => queryKey[0] !== keys.session[0] }
    client.setQueryData(keys.session, begun)
    if (begun.user === lastUser) void client.invalidateQueries(everythingElse)
    else client.removeQueries(everythingElse)
  }
  useEffect(() => {
    if (lastUser === null) document.title = 'Log in · Headgate'
  }, [lastUser])
  return (
    <main className={classes.screen}>
      <div className={classes.card}>
        <div className={classes.brand}>
          <img src={icon} width={34} height={34} alt="" />
          <h1 className={classes.title}>Headgate</h1>
        </div>
        <p className={classes.text}>
          {lastUser === null
            ? 'Log in to view and control pipelines.'
            : 'Your session has ended. Log in to continue where you were.'}
        </p>
        {session.waits_for_code ? (
          <CodeForm session={session} onLoggedIn={onLoggedIn} />
        ) : (
          <PasswordForm session={session} lastUser={lastUser} onLoggedIn={onLoggedIn} />
        )}
      </div>
    </main>
  )
}
