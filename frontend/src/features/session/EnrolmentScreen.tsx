import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { keys } from '@/api/keys'
import { Enrolment } from '@/components/account/Enrolment'
import { logOut } from '@/lib/session'
import classes from './login.module.css'

/** A role that needs a second factor sees nothing before there is one. */
export function EnrolmentScreen() {
  const client = useQueryClient()
  useEffect(() => {
    document.title = 'Set up a second factor · Headgate'
  }, [])
  return (
    <main className={classes.screen}>
      <div className={classes.card}>
        <h1 className={classes.title}>Set up a second factor</h1>
        <p className={classes.text}>Your role needs an authenticator application beside the password.</p>
        <Enrolment onDone={() => void client.invalidateQueries({ queryKey: keys.session })} />
        <Button variant="subtle" size="sm" onClick={() => void logOut()}>
          Log out
        </Button>
      </div>
    </main>
  )
}
