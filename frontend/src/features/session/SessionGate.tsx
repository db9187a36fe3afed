import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import { hooks } from '@/api/client'
import { keys } from '@/api/keys'
import { sessionQuery } from '@/api/session'
import type { Session } from '@/api/types'
import { DatabaseBanner } from '@/components/ui/DatabaseBanner'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { LiveProvider } from '@/lib/live/LiveProvider'
import { ProofGate } from '@/components/account/ProofDialog'
import { EnrolmentScreen } from './EnrolmentScreen'
import { LoginScreen } from './LoginScreen'
import { NoRoleScreen } from './NoRoleScreen'
import { useSession } from '@/lib/session'
import classes from './login.module.css'

/**
 * Shows the application to users who are logged in, and the login to everyone else, at the same address.
 * A session that expires covers the page instead of replacing it, so that text being typed is not lost.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const { session, error, retry } = useSession()
  const [lastUser, setLastUser] = useState<string | null>(null)
  useExpiry()
  useProblem(session)
  if (!session) return error ? <Unreachable error={error} onRetry={retry} /> : <Waiting />

  const { authenticated } = session
  const user = authenticated ? (session.user ?? '') : lastUser
  if (authenticated && user !== lastUser) setLastUser(user)
  if (authenticated && session.enrolment_required) {
    return (
      <>
        <EnrolmentScreen />
        <ProofGate session={session} />
      </>
    )
  }
  if (authenticated && session.role === null) return <NoRoleScreen user={user ?? ''} />
  return (
    <>
      {user !== null && (
        <div inert={!authenticated} key={user}>
          <LiveProvider active={authenticated}>{children}</LiveProvider>
          <ProofGate session={session} />
        </div>
      )}
      {!authenticated && <LoginScreen session={session} lastUser={lastUser} />}
    </>
  )
}

/** Learns of an expired session from the first request that is refused for it. */
function useExpiry(): void {
  const client = useQueryClient()
  useEffect(() => {
    hooks.onLoggedOut = () => {
      const session = client.getQueryData<Session>(keys.session)
      if (session?.authenticated) void client.fetchQuery({ ...sessionQuery, staleTime: 0 })
    }
    return () => {
      hooks.onLoggedOut = () => {}
    }
  }, [client])
}

/** Tells a user who is logged in why a sign-in at the provider has proven nothing. */
function useProblem(session: Session | undefined): void {
  const problem = session?.authenticated ? session.problem : null
  useEffect(() => {
    if (problem) notifications.show({ color: 'red', title: problem.detail, message: problem.hint })
  }, [problem])
}

function Waiting() {
  return (
    <>
      <DatabaseBanner />
      <Loading />
    </>
  )
}

function Unreachable({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <main className={classes.screen}>
      <div className={classes.card}>
        <h1 className={classes.title}>Headgate</h1>
        <ErrorNote error={error} onRetry={onRetry} />
      </div>
    </main>
  )
}
