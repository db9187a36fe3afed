import { Button } from '@mantine/core'
import { logOut } from '@/lib/session'
import classes from './login.module.css'

/** A user without a role has nothing to see; the page says so instead of failing everywhere. */
export function NoRoleScreen({ user }: { user: string }) {
  return (
    <main className={classes.screen}>
      <div className={classes.card}>
        <h1 className={classes.title}>You have no role yet</h1>
        <p className={classes.text}>
          You are logged in as {user}. Ask an administrator to give you or one of your groups a role, then log
          in again.
        </p>
        <Button size="sm" onClick={() => void logOut()}>
          Log out
        </Button>
      </div>
    </main>
  )
}
