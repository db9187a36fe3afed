import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { pipelineQuery } from '@/api/pipelines'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'

const FORMS = [
  { value: 'text', label: 'Text' },
  { value: 'all', label: 'All keys' },
]

/** The definition in force: its text, or every key with its value. Secrets are references, so there is nothing to hide. */
export function DefinitionTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const [form, setForm] = useState('text')
  const { data, error, refetch } = useQuery(pipelineQuery(name))
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading rows={10} />
  const all = form === 'all'
  return (
    <Panel
      title={`Definition, revision ${data.revision}`}
      note={all ? 'every key, defaults included, as JSON' : origin(data.as_written)}
      actions={<SegmentedControl aria-label="Form" size="xs" data={FORMS} value={form} onChange={setForm} />}
    >
      <CodeBlock
        code={all ? JSON.stringify(data.definition, null, 2) : data.definition_yaml}
        label={`Definition of ${name}`}
      />
    </Panel>
  )
}

const origin = (asWritten: boolean) =>
  asWritten ? 'as it was written' : 'no text is stored: the keys that differ from their defaults'
