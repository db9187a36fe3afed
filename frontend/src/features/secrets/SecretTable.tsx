import { Link } from '@tanstack/react-router'
import { Group } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { Secret } from '@/api/types'
import { useRefusal } from '@/components/teams/useReadOnly'
import { useSeveralTeams } from '@/components/teams/useTeamChoice'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { ownerWords } from '@/domain/owners'
import { count } from '@/lib/format'
import { PURPOSES } from './purposes'
import classes from './secrets.module.css'

interface SecretTableProps {
  secrets: Secret[]
  onBind: (secret: Secret) => void
  onReplace: (secret: Secret) => void
  onDelete: (secret: Secret) => void
}

export function SecretTable({ secrets, onBind, onReplace, onDelete }: SecretTableProps) {
  const several = useSeveralTeams()
  const refusal = useRefusal('admin')
  return (
    <Table
      label="Secrets"
      head={
        <>
          <th>Name</th>
          {several && <th>Team</th>}
          <th>For</th>
          <th className={`num ${classes.wide}`}>Version</th>
          <th className={classes.wide}>Age</th>
          <th className={classes.wide}>By</th>
          <th>Bound to</th>
          <th>Used by</th>
          <th className={classes.wide}>Last use</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </>
      }
    >
      {secrets.map((secret) => (
        <tr key={`${secret.purpose} ${secret.name}`}>
          <th scope="row" className={`mono ${classes.name}`}>
            {secret.name} {secret.backend === 'store' && <Unreadable readable={secret.readable} />}
          </th>
          {several && <td>{ownerWords(secret.team)}</td>}
          <td>{PURPOSES[secret.purpose]}</td>
          <td className={`num ${classes.wide}`}>{secret.version === 0 ? '-' : count(secret.version)}</td>
          <td className={classes.wide}>
            <Ago at={secret.updated_at} />
          </td>
          <td className={classes.wide}>{secret.updated_by}</td>
          <td>
            <Binding secret={secret} />
          </td>
          <td>
            <Users secret={secret} />
          </td>
          <td className={classes.wide} title={secret.last_used_by || undefined}>
            <Ago at={secret.last_used_at} />
          </td>
          <td>
            <Group gap={4} justify="flex-end" wrap="nowrap">
              {secret.purpose === 'pipelines' && (
                <ReasonButton
                  variant="default"
                  size="compact-xs"
                  reason={refusal(secret.team)}
                  aria-label={`Bind ${secret.name}`}
                  onClick={() => onBind(secret)}
                >
                  Bind
                </ReasonButton>
              )}
              {secret.backend === 'store' && (
                <ReasonButton
                  variant="default"
                  size="compact-xs"
                  reason={refusal(secret.team)}
                  aria-label={`Replace ${named(secret)}`}
                  onClick={() => onReplace(secret)}
                >
                  Replace
                </ReasonButton>
              )}
              <ReasonButton
                variant="default"
                size="compact-xs"
                reason={refusal(secret.team)}
                aria-label={`Delete ${named(secret)}`}
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

/** One name can be a secret of each purpose. */
function named(secret: Secret) {
  return secret.purpose === 'pipelines'
    ? secret.name
    : `${secret.name}, for ${PURPOSES[secret.purpose].toLowerCase()}`
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

/** Which pipelines may use it, and where it may go. */
function Binding({ secret }: { secret: Secret }) {
  if (secret.purpose !== 'pipelines') return <span className="dim">what refers to it</span>
  if (secret.pipelines.length === 0)
    return (
      <ToneBadge tone="warn" icon={IconAlertTriangle} plain title="No pipeline can use it. Bind it to some.">
        Nothing
      </ToneBadge>
    )
  return (
    <>
      {secret.pipelines.join(', ')} → {secret.destinations.join(', ')}
      {secret.unencrypted.length > 0 && (
        <ToneBadge tone="warn" icon={IconAlertTriangle} plain title={secret.unencrypted.join(', ')}>
          Not encrypted
        </ToneBadge>
      )}
    </>
  )
}

/** The run has an earlier version. */
function Outdated() {
  const title = 'It runs with an earlier version. Its next start takes the current one.'
  return (
    <ToneBadge tone="warn" icon={IconAlertTriangle} plain title={title}>
      Outdated
    </ToneBadge>
  )
}

function Users({ secret: { used_by, receivers, outdated } }: { secret: Secret }) {
  const links = [
    ...used_by.map((name) =>
      name.includes('/') ? (
        <span key={name}>{name}</span>
      ) : (
        <span key={name}>
          <Link to="/pipelines/$name" params={{ name }}>
            {name}
          </Link>
          {outdated.includes(name) && <Outdated />}
        </span>
      ),
    ),
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
