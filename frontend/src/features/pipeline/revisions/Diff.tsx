import { useQuery } from '@tanstack/react-query'
import { diffQuery } from '@/api/revisions'
import { ChangeTable } from '@/components/revisions/ChangeTable'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'

/** The difference of two revisions by meaning: one line for each key that differs. */
export function Diff({ name, from, to }: { name: string; from: number; to: number }) {
  const { data, error, refetch } = useQuery(diffQuery(name, from, to))
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  if (data.changes.length === 0) return <Empty title="The revisions are equivalent" />
  return (
    <ChangeTable
      label={`Revision ${from} to revision ${to}`}
      changes={data.changes.map((change) => ({ change }))}
      before={`Revision ${from}`}
      after={`Revision ${to}`}
    />
  )
}
