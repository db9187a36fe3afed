import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { pipelineQuery } from '@/api/pipelines'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'

/** The definition in force, as YAML. Secrets are references, so there is nothing to hide. */
export function DefinitionTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { data, error, refetch } = useQuery(pipelineQuery(name))
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading rows={10} />
  return (
    <Panel title={`Definition, revision ${data.revision}`} note="secrets are shown as references">
      <CodeBlock code={data.definition_yaml} label={`Definition of ${name}`} />
    </Panel>
  )
}
