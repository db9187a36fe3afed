import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { pipelineQuery } from '@/api/pipelines'
import { positionsQuery } from '@/api/positions'
import type { Pipeline, Positions } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Moment } from '@/components/ui/Time'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { ReplaysPanel } from '../replays/ReplaysPanel'
import { ChangePanel } from './ChangePanel'
import classes from '../pipeline.module.css'

const POLL_MS = 15_000

/** The position of every partition by each witness and, where action is required, the decision. */
export function PositionsTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { data: pipeline } = useQuery(pipelineQuery(name))
  const { data, error, refetch } = useQuery({ ...positionsQuery(name), refetchInterval: POLL_MS })
  const readOnly = useReadOnly(name)
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  return (
    <div className={classes.stack}>
      {data.partitions.length === 0 ? (
        <Panel title="Partitions" note={<Age positions={data} />} flush>
          <Empty title="No position yet">The first start uses start_from.</Empty>
        </Panel>
      ) : (
        <ChangePanel
          name={name}
          positions={data}
          note={<Age positions={data} />}
          readOnly={readOnly}
          resting={restingReason(pipeline?.phase)}
        />
      )}
      <ReplaysPanel
        name={name}
        partitions={data.partitions}
        readOnly={readOnly}
        resting={notRunningReason(pipeline)}
      />
    </div>
  )
}

function restingReason(phase: string | undefined): string | null {
  if (phase === undefined || phase === 'STOPPED' || phase === 'BLOCKED') return null
  return 'Positions can change only while the pipeline is stopped or blocked. Stop it first.'
}

function notRunningReason(pipeline: Pipeline | undefined): string | null {
  if (pipeline === undefined || pipeline.desired_state === 'RUNNING') return null
  return 'Only a started pipeline can replay a range. Start it first.'
}

function Age({ positions: { fresh, taken_at, error } }: { positions: Positions }) {
  if (fresh) return 'as the host reports them'
  return (
    <>
      {error ? `${error.message} ` : 'The host did not respond. '}
      {taken_at ? (
        <>
          Last inspected at <Moment at={taken_at} />
        </>
      ) : (
        'Only the ledger is known'
      )}
    </>
  )
}
