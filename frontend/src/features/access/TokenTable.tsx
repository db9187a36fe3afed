import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { revokeToken } from '@/api/tokens'
import type { Token } from '@/api/types'
import { RemovalDialog } from '@/components/actions/RemovalDialog'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { revokeTokenCall } from '@/domain/calls'

export function TokenTable({ tokens }: { tokens: Token[] }) {
  const [asked, setAsked] = useState<Token | null>(null)
  return (
    <>
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
                onClick={() => setAsked(token)}
              >
                Revoke
              </Button>
            </td>
          </tr>
        ))}
      </Table>
      {asked && <RevokeDialog token={asked} onClose={() => setAsked(null)} />}
    </>
  )
}

function RevokeDialog({ token: { id, user, name }, onClose }: { token: Token; onClose: () => void }) {
  const client = useQueryClient()
  const revoke = async () => {
    await revokeToken(id)
    void client.invalidateQueries({ queryKey: keys.users })
  }
  return (
    <RemovalDialog
      title={`Revoke ${id}?`}
      words={`What uses this token of ${user}${name && `, “${name}”,`} is rejected at once. A revoked token never works again.`}
      button="Revoke token"
      call={revokeTokenCall(id)}
      remove={revoke}
      queryKey={keys.tokens}
      done={`${id} is revoked.`}
      whileReadOnly
      onClose={onClose}
    />
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
