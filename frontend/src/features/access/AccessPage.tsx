import { useQuery } from '@tanstack/react-query'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { sessionQuery } from '@/api/session'
import { teamsQuery } from '@/api/teams'
import { tokensQuery, usersQuery } from '@/api/tokens'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { cannotAdministerAll } from '@/domain/roles'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { frozen } from '@/domain/readOnly'
import { TokenDialog } from './TokenDialog'
import { TokenTable } from './TokenTable'
import { TeamDialog } from './TeamDialog'
import { TeamTable } from './TeamTable'
import { UserDialog } from './UserDialog'
import { UserTable } from './UserTable'
import classes from './access.module.css'

/** One's own tokens and teams; for administrators of all teams all tokens and users. */
export function AccessPage() {
  const { data: session } = useQuery(sessionQuery)
  const administers = session !== undefined && cannotAdministerAll(session) === null
  const tokens = useQuery({ ...tokensQuery(administers), enabled: session !== undefined })
  const users = useQuery({ ...usersQuery, enabled: administers })
  const teams = useQuery({ ...teamsQuery, enabled: session !== undefined })
  const [creates, setCreates] = useState<'token' | 'user' | 'team' | null>(null)
  const close = () => setCreates(null)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Users and teams"
        beside={
          <a href="/docs/security/roles/" target="_blank" rel="noreferrer">
            What each role can do<span className="visually-hidden"> (opens in a new tab)</span>
          </a>
        }
        actions={
          <>
            {administers && (
              <ReasonButton
                variant="default"
                leftSection={<IconPlus size={14} aria-hidden />}
                reason={frozen(session)}
                onClick={() => setCreates('user')}
              >
                Create user
              </ReasonButton>
            )}
            {administers && (
              <ReasonButton
                variant="default"
                leftSection={<IconPlus size={14} aria-hidden />}
                reason={frozen(session)}
                onClick={() => setCreates('team')}
              >
                Create team
              </ReasonButton>
            )}
            <ReasonButton
              leftSection={<IconPlus size={14} aria-hidden />}
              reason={frozen(session)}
              onClick={() => setCreates('token')}
            >
              Create token
            </ReasonButton>
          </>
        }
      />
      <Panel title={administers ? 'Tokens' : 'Your tokens'} flush>
        {tokens.error && <ErrorNote error={tokens.error} onRetry={() => void tokens.refetch()} />}
        {!tokens.data && !tokens.error && <Loading />}
        {tokens.data?.length === 0 && (
          <Empty title="No tokens yet">A token lets a program use the API with your rights, or fewer.</Empty>
        )}
        {tokens.data && tokens.data.length > 0 && <TokenTable tokens={tokens.data} />}
      </Panel>
      {administers && (
        <Panel title="Users" flush>
          {users.error && <ErrorNote error={users.error} onRetry={() => void users.refetch()} />}
          {!users.data && !users.error && <Loading />}
          {users.data && <UserTable users={users.data} own={session.user} />}
        </Panel>
      )}
      <Panel title={administers ? 'Teams' : 'Your teams'} flush>
        {teams.error && <ErrorNote error={teams.error} onRetry={() => void teams.refetch()} />}
        {!teams.data && !teams.error && <Loading />}
        {teams.data && <TeamTable teams={teams.data} everywhere={administers} />}
      </Panel>
      {creates === 'team' && <TeamDialog onClose={close} />}
      {creates === 'token' && <TokenDialog onClose={close} />}
      {creates === 'user' && <UserDialog onClose={close} />}
    </div>
  )
}
