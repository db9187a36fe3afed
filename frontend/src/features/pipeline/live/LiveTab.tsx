import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { statusQuery } from '@/api/pipelines'
import { Loading } from '@/components/ui/Feedback'
import { Charts } from './Charts'
import { Components } from './Components'
import { Cursors } from './Cursors'
import { PartitionLag } from './PartitionLag'
import classes from '../pipeline.module.css'

/** What moves now: rate and lag, every cursor, every component. */
export function LiveTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { minutes = 15 } = useSearch({ from: '/pipelines/$name/' })
  const { data: status } = useQuery(statusQuery(name))
  return (
    <div className={classes.stack}>
      <Charts name={name} />
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
