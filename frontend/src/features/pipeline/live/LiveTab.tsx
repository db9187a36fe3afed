import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { statusQuery } from '@/api/pipelines'
import { Loading } from '@/components/ui/Feedback'
import { Charts } from './Charts'
import { Components } from './Components'
import { ChannelPositions } from './ChannelPositions'
import { IngestBuffers } from './IngestBuffers'
import { PartitionLag } from './PartitionLag'
import classes from '../pipeline.module.css'

/** Frames bring the figures of the queries; what sources that are pushed to took in is asked for. */
const INGEST_POLL_MS = 3_000

/** What moves now: rate and lag, every cursor, every component. */
export function LiveTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { minutes = 15 } = useSearch({ from: '/pipelines/$name/throughput' })
  const { data: status } = useQuery({
    ...statusQuery(name),
    refetchInterval: ({ state }) => (state.data?.ingest_buffers.length ? INGEST_POLL_MS : false),
  })
  return (
    <div className={classes.stack}>
      <Charts name={name} />
      {status && status.ingest_buffers.length > 0 && <IngestBuffers ingest_buffers={status.ingest_buffers} />}
      <PartitionLag name={name} minutes={Math.max(60, minutes)} />
      {status ? (
        <div className={classes.two}>
          <ChannelPositions queries={status.queries} phase={status.phase} />
          <Components components={status.components} />
        </div>
      ) : (
        <Loading />
      )}
    </div>
  )
}
