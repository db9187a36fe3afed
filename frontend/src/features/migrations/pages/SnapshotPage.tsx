import { Copy } from '@/components/ui/CodeBlock'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { count, NONE } from '@/lib/format'
import { EnginePage } from '../EngineSteps'
import { sinkEndsOf, snapshotOf, type Snapshot } from '../evidence'
import { SinkEnds, Translation } from '../Translation'
import { summary } from '../translations'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** What was recorded between the verified pause and the first change; a rollback restores it. */
export function SnapshotPage(props: StepProps) {
  const snapshot = snapshotOf(props.migration)
  return (
    <EnginePage {...props} page="snapshot">
      {snapshot ? (
        <>
          <Facts snapshot={snapshot} />
          <Positions snapshot={snapshot} />
          <Elsewhere migration={props.migration} snapshot={snapshot} />
        </>
      ) : (
        <Panel title="Snapshot">
          <Empty title="There is no snapshot yet" />
        </Panel>
      )}
    </EnginePage>
  )
}

/** Of a move to another cluster, at the exact stop. */
function Elsewhere({ migration, snapshot }: { migration: StepProps['migration']; snapshot: Snapshot }) {
  const { translation = [] } = snapshot
  const ends = sinkEndsOf(migration)
  return (
    <>
      {translation.length > 0 && (
        <Panel title="Positions on the new cluster" note={summary(translation)} flush>
          <Translation rows={translation} />
        </Panel>
      )}
      {ends.length > 0 && (
        <Panel title="The sink's topics on the new cluster" flush>
          <SinkEnds ends={ends} />
        </Panel>
      )}
    </>
  )
}

function Facts({ snapshot }: { snapshot: Snapshot }) {
  const { revision, host, run, lineage, at, digest, totals } = snapshot
  const facts: [string, string][] = [
    ['Host', host],
    ['Run', count(run)],
    ['Revision', count(revision)],
    ['Lineage', count(lineage)],
    ['Read so far', count(totals.read)],
    ['Delivered so far', count(totals.delivered)],
  ]
  return (
    <Panel
      title="Snapshot"
      note={
        <>
          taken at <Moment at={at} />
        </>
      }
    >
      <div className={classes.form}>
        <dl className={classes.facts}>
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <div className={classes.choice}>
          <span className={classes.evidence}>{digest}</span>
          <Copy text={digest} label="Snapshot digest" />
        </div>
      </div>
    </Panel>
  )
}

function Positions({ snapshot: { positions } }: { snapshot: Snapshot }) {
  return (
    <Panel title="Positions" note="the next offset of every partition" flush>
      {positions.length === 0 ? (
        <Empty title="Nothing was read yet" />
      ) : (
        <Table
          label="Positions of the snapshot"
          maxHeight={420}
          head={
            <>
              <th>Partition</th>
              <th>Read by</th>
              <th className="num">Next offset</th>
            </>
          }
        >
          {positions.map(({ source, channel, topic, partition, offset }) => (
            <tr key={`${source} ${channel} ${topic} ${partition}`}>
              <th scope="row">
                {topic}/{partition}
              </th>
              <td>
                <SourceToChannel source={source} channel={channel} />
              </td>
              <td className="num">{offset === null ? NONE : count(offset)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}
