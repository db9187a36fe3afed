import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { statusQuery } from '@/api/pipelines'
import { Unread } from '@/components/ui/Feedback'
import { Charts } from '../charts/Charts'
import { Crosshair, CrosshairContext } from '../charts/crosshair'
import { PartitionHeat } from '../charts/PartitionHeat'
import { Components } from './Components'
import { ChannelPositions } from './ChannelPositions'
import { IngestBuffers } from './IngestBuffers'
import classes from '../pipeline.module.css'

/** Frames bring the figures of the queries; what sources that are pushed to took in is asked for. */
const INGEST_POLL_MS = 3_000

/** What moved and what moves now: charts, every position, every component. */
export function LiveTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const [crosshair] = useState(() => new Crosshair())
  const query = useQuery({
    ...statusQuery(name),
    refetchInterval: ({ state }) => (state.data?.ingest_buffers.length ? INGEST_POLL_MS : false),
  })
  const status = query.data
  return (
    <div className={classes.stack}>
      <CrosshairContext value={crosshair}>
        <Charts name={name} />
        <PartitionHeat name={name} />
      </CrosshairContext>
      {status && status.ingest_buffers.length > 0 && <IngestBuffers ingest_buffers={status.ingest_buffers} />}
      {status ? (
        <div className={classes.two}>
          <ChannelPositions queries={status.queries} phase={status.phase} />
          <Components components={status.components} />
        </div>
      ) : (
        <Unread query={query} what="positions and components" />
      )}
    </div>
  )
}
