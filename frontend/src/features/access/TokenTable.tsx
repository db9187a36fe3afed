import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { revokeToken } from '@/api/tokens'
import type { Token } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'

export function TokenTable({ tokens }: { tokens: Token[] }) {
  const client = useQueryClient()
  const revocation = useMutation({
    mutationFn: revokeToken,
    onSuccess: (_, id) => {
      void client.invalidateQueries({ queryKey: keys.tokens })
      void client.invalidateQueries({ queryKey: keys.users })
      announce(`${id} is revoked.`)
    },
  })
  return (
    <>
      {revocation.error && <ErrorNote error={revocation.error} />}
      <Table
        label="Tokens"
        head={
          <>
            <th>Token</th>
            <th>Name</th>
            <th>User</th>
            <th>Scope</th>
            <th>Expires</th>
            <th>Last used</th>
            <th>Created by</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {tokens.map((token) => (
          <tr key={token.id}>
            <th scope="row" className="mono">
              {token.id}
            </th>
            <td>{token.name || '-'}</td>
            <td>{token.user}</td>
            <td>{scopeOf(token)}</td>
            <td>
              <End token={token} />
            </td>
            <td>
              {token.last_used_at ? <Ago at={token.last_used_at} /> : '-'}{' '}
              <span className="dim">{token.last_used_address}</span>
            </td>
            <td>{token.created_by || '-'}</td>
            <td>
              <Button
                variant="default"
                size="compact-xs"
                aria-label={`Revoke ${token.id}`}
                onClick={() => revocation.mutate(token.id)}
              >
                Revoke
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function scopeOf(token: Token): string {
  const parts = [token.role_cap ?? 'all', token.team && `in ${token.team}`, token.read_only && 'read-only']
  return [...parts, !token.sees_records && 'no records'].filter(Boolean).join(', ')
}

function End({ token }: { token: Token }) {
  if (token.expires_at === null) {
    return (
      <ToneBadge
        tone="warn"
        icon={IconAlertTriangle}
        plain
        title="Create a token with an end in its place, and revoke this one."
      >
        Never expires
      </ToneBadge>
    )
  }
  if (token.expired) return <span className="dim">Expired</span>
  return <>{token.expires_at.slice(0, 10)}</>
}
