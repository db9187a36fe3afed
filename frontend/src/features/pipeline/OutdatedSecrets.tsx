import { Alert } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { PipelineStatus } from '@/api/types'

/** The run has earlier values of secrets than are current. */
export function OutdatedSecrets({
  status: { outdated_secrets },
}: {
  status: Pick<PipelineStatus, 'outdated_secrets'>
}) {
  if (outdated_secrets.length === 0) return null
  return (
    <Alert
      color="yellow"
      icon={<IconAlertTriangle aria-hidden />}
      title="The run uses older values of secrets"
    >
      {outdated_secrets.map(({ name, running, current }) => (
        <div key={name}>
          <code>{name}</code>: version {running}, the current one is {current}.
        </div>
      ))}
      Restart the pipeline or migrate it to use the current values.
    </Alert>
  )
}
