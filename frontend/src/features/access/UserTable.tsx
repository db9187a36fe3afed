import { NativeSelect } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { changeUser } from '@/api/tokens'
import type { User, UserChange } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { cannotAdministerAll, ROLE_OPTIONS, ROLE_WORDS } from '@/domain/roles'
import { count } from '@/lib/format'
import { useBarred } from '@/lib/session'

export function UserTable({ users, own }: { users: User[]; own: string | null }) {
  const client = useQueryClient()
  const barred = useBarred(cannotAdministerAll)
  const refusal = ({ username }: User, words: string) => barred ?? (username === own ? words : null)
  const change = useMutation({
    mutationFn: ({ user, to }: { user: User; to: Partial<UserChange> }) =>
      changeUser(user.username, { active: null, role: null, ...to }),
    onSuccess: (user) => {
      announce(`${user.username} is changed.`)
      void client.invalidateQueries({ queryKey: keys.users })
      void client.invalidateQueries({ queryKey: keys.tokens })
    },
  })
  return (
    <>
      {change.error && <ErrorNote error={change.error} />}
      <Table
        label="Users"
        head={
          <>
            <th>User</th>
            <th>Role in all teams</th>
            <th>Other roles</th>
            <th>State</th>
            <th>Logs in with</th>
            <th className="num">Tokens</th>
            <th>Last log-in</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {users.map((user) => (
          <tr key={user.username}>
            <th scope="row">{user.username}</th>
            <td>
              <RoleSelect
                user={user}
                reason={refusal(user, 'You cannot change your own role.')}
                onChange={(role) => change.mutate({ user, to: { role } })}
              />
            </td>
            <td>{rolesOf(user)}</td>
            <td>{user.active ? 'Enabled' : 'Disabled'}</td>
            <td>{waysOf(user)}</td>
            <td className="num">{count(user.tokens)}</td>
            <td>{user.last_login_at ? <Ago at={user.last_login_at} /> : '-'}</td>
            <td>
              <ReasonButton
                variant="default"
                size="compact-xs"
                reason={refusal(user, 'You cannot disable yourself.')}
                aria-label={`${user.active ? 'Disable' : 'Enable'} ${user.username}`}
                onClick={() => change.mutate({ user, to: { active: !user.active } })}
              >
                {user.active ? 'Disable' : 'Enable'}
              </ReasonButton>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

interface RoleSelectProps {
  user: User
  reason: string | null
  onChange: (role: UserChange['role']) => void
}

function RoleSelect({ user: { username, role }, reason, onChange }: RoleSelectProps) {
  return (
    <NativeSelect
      size="xs"
      aria-label={`Role of ${username}`}
      disabled={reason !== null}
      title={reason ?? undefined}
      data={role ? ROLE_OPTIONS : [{ value: '', label: 'None' }, ...ROLE_OPTIONS]}
      value={role ?? ''}
      onChange={(event) => onChange(event.currentTarget.value as UserChange['role'])}
    />
  )
}

function rolesOf(user: User): string {
  return user.teams.map(({ team, role }) => `${ROLE_WORDS[role]} in ${team}`).join(', ') || '-'
}

function waysOf(user: User): string {
  const ways = [
    user.password && 'password',
    user.provider && 'provider',
    user.second_factor && 'second factor',
  ]
  return ways.filter(Boolean).join(', ') || 'tokens alone'
}
