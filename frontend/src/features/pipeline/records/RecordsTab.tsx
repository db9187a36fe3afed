import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { pipelineQuery } from '@/api/pipelines'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PeekForm } from './PeekForm'
import { subjectsOf } from './subjects'

const route = getRouteApi('/pipelines/$name/records')

/** Records of the topics that a pipeline reads or writes. */
export function RecordsTab() {
  const { name } = route.useParams()
  const search = route.useSearch()
  const { data, error, refetch } = useQuery(pipelineQuery(name))
  if (!data) return error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : <Loading rows={6} />
  const subjects = subjectsOf(data.definition ?? {})
  if (subjects.length === 0)
    return (
      <Empty title="No topic">
        This pipeline reads and writes no Kafka topic. Open a component in the topology for a sample of what
        it takes out.
      </Empty>
    )
  return (
    <PeekForm
      key={`${name} ${Object.values(search).join(' ')}`}
      name={name}
      subjects={subjects}
      {...search}
    />
  )
}
