import { Link } from '@tanstack/react-router'
import { Group } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { Secret } from '@/api/types'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count } from '@/lib/format'

interface SecretTableProps {
  secrets: Secret[]
  /** Why nothing may be changed; null where it may. */
  readOnly: string | null
  onReplace: (secret: Secret) => void
  onDelete: (secret: Secret) => void
}

export function SecretTable({ secrets, readOnly, onReplace, onDelete }: SecretTableProps) {
  return (
    <Table
      label="Secrets"
      head={
        <>
          <th>Name</th>
          <th className="num">Version</th>
          <th>Updated</th>
          <th>By</th>
          <th>Used by</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </>
      }
    >
      {secrets.map((secret) => (
        <tr key={secret.name}>
          <th scope="row" className="mono">
            {secret.name} <Unreadable readable={secret.readable} />
          </th>
          <td className="num">{count(secret.version)}</td>
          <td>
            <Ago at={secret.updated_at} />
          </td>
          <td>{secret.updated_by}</td>
          <td>
            <Users secret={secret} />
          </td>
          <td>
            <Group gap="xs" justify="flex-end" wrap="nowrap">
              <ReasonButton
                variant="default"
                size="compact-xs"
                reason={readOnly}
                aria-label={`Replace ${secret.name}`}
                onClick={() => onReplace(secret)}
              >
                Replace
              </ReasonButton>
              <ReasonButton
                variant="default"
                size="compact-xs"
                reason={readOnly}
                aria-label={`Delete ${secret.name}`}
                onClick={() => onDelete(secret)}
              >
                Delete
              </ReasonButton>
            </Group>
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** A value that no key decrypts cannot be used by any start. */
function Unreadable({ readable }: Pick<Secret, 'readable'>) {
  if (readable === true) return null
  const title =
    readable === null
      ? 'The server has no key of the secret store, so it cannot check the value. Set the key on the server.'
      : 'No key of the server decrypts the value. Add the key it was stored under, or replace the value.'
  return (
    <ToneBadge tone={readable === null ? 'warn' : 'bad'} icon={IconAlertTriangle} plain title={title}>
      {readable === null ? 'Store locked' : 'Not readable'}
    </ToneBadge>
  )
}

function Users({ secret: { used_by, receivers } }: { secret: Secret }) {
  const links = [
    ...used_by.map((name) => (
      <Link key={name} to="/pipelines/$name" params={{ name }}>
        {name}
      </Link>
    )),
    ...receivers.map((id) => (
      <Link key={id} to="/receivers" search={{ id }}>
        receiver {id}
      </Link>
    )),
  ]
  if (links.length === 0) return <span className="dim">none</span>
  return links.map((link, index) => (
    <span key={link.key}>
      {index > 0 && ', '}
      {link}
    </span>
  ))
}
