import { Alert } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { PipelineStatus } from '@/api/types'

/** What the pipeline delivers of what it reads is unusual: what takes the records, and what to do. */
export function OutputNote({ name, status }: { name: string; status: Pick<PipelineStatus, 'conditions'> }) {
  const output = status.conditions.find(({ type }) => type === 'Output')
  if (output?.status !== 'False') return null
  return (
    <Alert
      color="yellow"
      icon={<IconAlertTriangle aria-hidden />}
      title="The output is unusual"
      styles={{ title: { color: 'var(--hg-text)' } }}
    >
      <p>{output.message}</p>
      Compare the component with{' '}
      <Link to="/pipelines/$name/revisions" params={{ name }}>
        the revision before
      </Link>
      , and correct it or roll back. The{' '}
      <Link to="/pipelines/$name/ledger" params={{ name }}>
        ledger
      </Link>{' '}
      counts by component what it took.
    </Alert>
  )
}
