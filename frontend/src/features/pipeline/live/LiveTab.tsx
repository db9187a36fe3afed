import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { statusQuery } from '@/api/pipelines'
import { Loading } from '@/components/ui/Feedback'
import { Charts } from './Charts'
import { Components } from './Components'
import { Cursors } from './Cursors'
import { Intakes } from './Intakes'
import { PartitionLag } from './PartitionLag'
import classes from '../pipeline.module.css'

/** Frames bring the figures of the queries; what sources that are pushed to took in is asked for. */
const INTAKE_POLL_MS = 3_000

/** What moves now: rate and lag, every cursor, every component. */
export function LiveTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { minutes = 15 } = useSearch({ from: '/pipelines/$name/' })
  const { data: status } = useQuery({
    ...statusQuery(name),
    refetchInterval: ({ state }) => (state.data?.intakes.length ? INTAKE_POLL_MS : false),
  })
  return (
    <div className={classes.stack}>
      <Charts name={name} />
      {status && status.intakes.length > 0 && <Intakes intakes={status.intakes} />}
      <PartitionLag name={name} minutes={Math.max(60, minutes)} />
      {status ? (
        <div className={classes.two}>
          <Cursors queries={status.queries} phase={status.phase} />
          <Components components={status.components} />
        </div>
      ) : (
        <Loading />
      )}
    </div>
  )
}
