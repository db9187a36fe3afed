import { useQuery } from '@tanstack/react-query'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { secretsQuery } from '@/api/secrets'
import { sessionQuery } from '@/api/session'
import type { Secret } from '@/api/types'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { cannotSeeSecrets, cannotWriteSecrets } from '@/domain/roles'
import { plural } from '@/lib/format'
import { useBarred } from '@/lib/session'
import { BindSecretDialog } from './BindSecretDialog'
import { DeleteSecretDialog } from './DeleteSecretDialog'
import { SecretDialog } from './SecretDialog'
import { SecretTable } from './SecretTable'
import classes from './secrets.module.css'

type Open = { kind: 'set' } | { kind: 'bind' | 'replace' | 'delete'; secret: Secret }

/** Names of secrets, and who uses them. A value is typed in and never shown again. */
export function SecretsPage() {
  const { data: session } = useQuery(sessionQuery)
  const hidden = cannotSeeSecrets(session)
  const readOnly = useBarred(cannotWriteSecrets)
  const { data: secrets, error, refetch } = useQuery({ ...secretsQuery, enabled: !hidden })
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Secrets"
        beside={secrets && <span className="dim">{plural(secrets.length, 'secret')}</span>}
        actions={
          !hidden && (
            <ReasonButton
              leftSection={<IconPlus size={14} aria-hidden />}
              reason={readOnly}
              onClick={() => setOpen({ kind: 'set' })}
            >
              Set secret
            </ReasonButton>
          )
        }
      />
      {hidden && <Empty title="Your role cannot see secrets">{hidden}</Empty>}
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!hidden && !secrets && !error && <Loading />}
      {secrets && (
        <Panel title="Stored secrets" flush>
          {secrets.length === 0 ? (
            <NoSecrets />
          ) : (
            <SecretTable
              secrets={secrets}
              onBind={(secret) => setOpen({ kind: 'bind', secret })}
              onReplace={(secret) => setOpen({ kind: 'replace', secret })}
              onDelete={(secret) => setOpen({ kind: 'delete', secret })}
            />
          )}
        </Panel>
      )}
      {open?.kind === 'set' && <SecretDialog onClose={close} />}
      {open?.kind === 'bind' && <BindSecretDialog secret={open.secret} onClose={close} />}
      {open?.kind === 'replace' && <SecretDialog secret={open.secret} onClose={close} />}
      {open?.kind === 'delete' && <DeleteSecretDialog secret={open.secret} onClose={close} />}
    </div>
  )
}

function NoSecrets() {
  return (
    <Empty title="No secrets yet">
      Definitions never contain passwords. Store a password here and refer to it by name.
      <div className={classes.example}>
        <CodeBlock code={'sasl.password: ${secret:kafka}'} label="In a definition" />
      </div>
    </Empty>
  )
}
