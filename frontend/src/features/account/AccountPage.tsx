import { Button, Group, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { removeAuthenticator, renewRecoveryCodes, secondFactorQuery } from '@/api/account'
import { keys } from '@/api/keys'
import { sessionQuery } from '@/api/session'
import type { SecondFactor } from '@/api/types'
import { Enrolment } from '@/components/account/Enrolment'
import { RecoveryCodes } from '@/components/account/RecoveryCodes'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ROLE_WORDS } from '@/domain/roles'
import { plural } from '@/lib/format'
import classes from './account.module.css'
import { PasskeyList } from './PasskeyList'
import { PasswordForm } from './PasswordForm'

/** The user's own log-in. */
export function AccountPage() {
  const { data: session } = useQuery(sessionQuery)
  const { data: factor, error, refetch } = useQuery(secondFactorQuery)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Account"
        beside={
          session?.role && (
            <span className="dim">
              {session.user}, {ROLE_WORDS[session.role]}
            </span>
          )
        }
      />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!factor && !error && <Loading />}
      {factor && !factor.usable && (
        <Panel title="Second factor">
          <Text size="sm">You sign in at a provider, which asks for its own second factor.</Text>
        </Panel>
      )}
      {factor?.usable && (
        <>
          <Panel title="Password">
            <PasswordForm />
          </Panel>
          <Panel title="Authenticator application">
            {factor.totp ? <Enrolled factor={factor} /> : <NotEnrolled />}
          </Panel>
          <Panel title="Passkeys">
            <PasskeyList factor={factor} />
          </Panel>
        </>
      )}
    </div>
  )
}

function NotEnrolled() {
  const client = useQueryClient()
  return (
    <>
      <Text size="sm" mb="md">
        With an authenticator application, a stolen password is not enough to log in.
      </Text>
      <Enrolment onDone={() => void client.invalidateQueries({ queryKey: keys.secondFactor })} />
    </>
  )
}

function Enrolled({ factor }: { factor: SecondFactor }) {
  const client = useQueryClient()
  const [codes, setCodes] = useState<string[] | null>(null)
  const refresh = () => {
    void client.invalidateQueries({ queryKey: keys.secondFactor })
    void client.invalidateQueries({ queryKey: keys.session })
  }
  const renewal = useMutation({ mutationFn: renewRecoveryCodes, onSuccess: (made) => setCodes(made.codes) })
  const removal = useMutation({
    mutationFn: removeAuthenticator,
    onSuccess: () => {
      announce('The authenticator application is removed.')
      refresh()
    },
  })
  const done = () => {
    setCodes(null)
    refresh()
  }
  if (codes) return <RecoveryCodes codes={codes} onDone={done} />
  const error = renewal.error ?? removal.error
  return (
    <>
      <Text size="sm" mb="md">
        Your authenticator application is set up. {plural(factor.recovery_codes, 'recovery code')} left.
      </Text>
      {error && <ErrorNote error={error} />}
      <Group gap="xs">
        <Button variant="default" loading={renewal.isPending} onClick={() => renewal.mutate()}>
          Replace recovery codes
        </Button>
        <ReasonButton
          color="red.8"
          loading={removal.isPending}
          reason={factor.required && factor.passkeys.length === 0 ? 'Your role needs a second factor.' : null}
          onClick={() => removal.mutate()}
        >
          Remove application
        </ReasonButton>
      </Group>
    </>
  )
}
