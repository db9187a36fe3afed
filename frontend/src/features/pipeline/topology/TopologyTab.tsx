import { SegmentedControl } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useMemo } from 'react'
import { topologyQuery } from '@/api/ledger'
import { pipelineQuery, statusQuery } from '@/api/pipelines'
import type { PipelineDetail, Topology } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { useNow } from '@/lib/clock'
import { NodeDetails } from './NodeDetails'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { WindowSelect } from '../WindowSelect'
import { pollOf } from '../windows'
import { factsOf, nodeViews, type Facts, type NodeView } from './nodes'
import { TopologyTree } from './TopologyTree'

const TopologyGraph = lazy(() =>
  import('./TopologyGraph').then((module) => ({ default: module.TopologyGraph })),
)

const VIEWS = [
  { value: 'graph', label: 'Graph' },
  { value: 'tree', label: 'Tree' },
]

/** The components of a pipeline as a graph, or as a tree of text: what goes through each, and what each is doing. */
export function TopologyTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { minutes = 1, node, view } = useSearch({ from: '/pipelines/$name/' })
  const navigate = useNavigate({ from: '/pipelines/$name/' })
  const narrow = useMediaQuery('(max-width: 899px)')
  const query = useQuery({
    ...topologyQuery(name, minutes),
    refetchInterval: pollOf(minutes),
    placeholderData: (before, last) => (last?.queryKey[1] === name ? before : undefined),
  })
  const { data, error, refetch } = query
  const { data: facts } = useQuery({ ...statusQuery(name), select: factsOf })
  const { data: definition } = useQuery({ ...pipelineQuery(name), select: definitionOf })
  const views = useNodeViews(data, facts)
  const set = useCallback(
    (change: { minutes?: number; view?: 'graph' | 'tree'; node?: string }) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false }),
    [navigate],
  )
  const select = useCallback((path: string) => set({ node: path }), [set])
  if (!data) return error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : <Loading rows={6} />
  if (data.nodes.length === 0)
    return <Empty title="No revision is published">Publish a definition to see its components here.</Empty>
  const shown = view ?? (narrow ? 'tree' : 'graph')
  const chosen = views.find((each) => each.node.path === node)
  return (
    <Panel
      title="Topology"
      note={`revision ${data.revision}`}
      actions={
        <>
          <WindowSelect minutes={minutes} onChange={(value) => set({ minutes: value })} />
          <SegmentedControl
            aria-label="Shown as"
            data={VIEWS}
            value={shown}
            onChange={(value) => set({ view: value as 'graph' | 'tree' })}
          />
        </>
      }
      flush
    >
      <StaleFigures query={query} every={pollOf(minutes)} />
      {shown === 'graph' ? (
        <Suspense fallback={<Loading rows={6} />}>
          <TopologyGraph topology={data} views={views} selected={node} onSelect={select} />
        </Suspense>
      ) : (
        <TopologyTree topology={data} views={views} onSelect={select} />
      )}
      {chosen && (
        <NodeDetails
          name={name}
          view={chosen}
          topology={data}
          definition={definition ?? {}}
          onClose={() => set({ node: undefined })}
        />
      )}
    </Panel>
  )
}

const definitionOf = ({ definition }: PipelineDetail) => definition

/** The states of the components; they follow the clock only where a failed sink waits for its next attempt. */
function useNodeViews(topology: Topology | undefined, facts: Facts | undefined): NodeView[] {
  const now = useNow()
  const at = facts?.queries.some(({ group }) => group?.failed.length) ? now : 0
  return useMemo(() => (topology ? nodeViews(topology, facts, at) : []), [topology, facts, at])
}
