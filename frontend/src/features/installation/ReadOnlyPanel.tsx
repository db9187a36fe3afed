import { Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { readOnlyQuery } from '@/api/installation'
import { keys } from '@/api/keys'
import type { ReadOnlyMode } from '@/api/types'
import { ReadOnlyOrigin } from '@/components/governance/ReadOnlyOrigin'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { cannotAdministerAll } from '@/domain/roles'
import { useSession } from '@/lib/session'
import { ReadOnlyDialog } from './ReadOnlyDialog'

/** Whether users can change the installation, and the switch for administrators of all teams. */
export function ReadOnlyPanel() {
  const { data, error, refetch } = useQuery(readOnlyQuery)
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const rights = cannotAdministerAll(useSession().session)
  const fixed =
    data?.source === 'setting' ? `${data.set_by} decides. Remove it and restart the web servers.` : null
  const close = () => {
    setAsking(false)
    void client.invalidateQueries({ queryKey: keys.session })
  }
  return (
    <Panel
      title="Read-only mode"
      actions={
        data && (
          <ReasonButton variant="default" reason={rights ?? fixed} onClick={() => setAsking(true)}>
            {data.read_only ? 'Make writable' : 'Make read-only'}
          </ReasonButton>
        )
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={1} />}
      {data && <State mode={data} />}
      {data && asking && <ReadOnlyDialog mode={data} onClose={close} />}
    </Panel>
  )
}

function State({ mode }: { mode: ReadOnlyMode }) {
  return (
    <Text size="sm">
      <strong>{mode.read_only ? 'Read-only' : 'Off'}</strong>
      {mode.set_by ? <ReadOnlyOrigin mode={mode} /> : '.'}{' '}
      <span className="dim">
        {mode.read_only
          ? 'Nothing can be started, changed or published. Stops, pauses, cancellations and roll-backs are possible.'
          : 'Turn it on for an upgrade, an incident or a holiday. Pipelines continue, and can be stopped.'}
      </span>{' '}
      <a href="/docs/guides/read-only/" target="_blank" rel="noreferrer">
        Documentation<span className="visually-hidden"> of the read-only mode (opens in a new tab)</span>
      </a>
    </Text>
  )
}
