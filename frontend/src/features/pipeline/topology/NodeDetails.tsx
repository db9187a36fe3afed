import { Drawer, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Topology } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { capitalized, count, rate } from '@/lib/format'
import { kindOf, State, titleOf } from './Figures'
import { subjectsOf, type Subject } from '../records/subjects'
import { configuration, seconds, taken, type NodeView } from './nodes'
import { NodeFindings } from './NodeFindings'
import { Sample } from './Sample'
import classes from './topology.module.css'

interface DetailsProps {
  name: string
  view: NodeView
  topology: Topology
  definition: Record<string, unknown>
  onClose: () => void
}

/** One component: its state and cause, what became of what it received, its configuration, and where to look next. */
export function NodeDetails({ name, view, topology, definition, onClose }: DetailsProps) {
  const { node, state } = view
  const time = seconds(topology)
  const subject = subjectsOf(definition).find(({ of }) => of === node.path)
  const rows: [string, number][] = [
    [node.kind === 'source' ? 'Read' : 'Received', node.received],
    ...taken(node).map(({ word, records }): [string, number] => [capitalized(word), records]),
    [node.kind === 'sink' ? 'Delivered' : 'Passed on', node.passed],
  ]
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title={titleOf(node)}>
      <Stack gap="md">
        <Text size="sm">
          {kindOf(node)} <span className="mono">{node.path}</span>
        </Text>
        {state && (
          <div>
            <State state={state} />
            {state.cause && <p className={classes.cause}>{state.cause}</p>}
          </div>
        )}
        <Table
          label="What became of the events"
          head={
            <>
              <th>Events</th>
              <th className="num">Number</th>
              <th className="num">Per second</th>
            </>
          }
        >
          {rows.map(([word, records]) => (
            <tr key={word}>
              <td>{word}</td>
              <td className="num">{count(records)}</td>
              <td className="num">{rate(records / time)}</td>
            </tr>
          ))}
        </Table>
        <NodeFindings name={name} path={node.path} paths={topology.nodes.map(({ path }) => path)} />
        {(node.kind === 'interceptor' || node.kind === 'selector') && (
          <Sample name={name} path={node.path} label="Sample of what it takes out">
            The newest 1,000 records of the source run through the present revision. Those that end here are
            shown, with the reason. Nothing is delivered.
          </Sample>
        )}
        {node.kind === 'sink' && subject && onlyTopic(subject) && (
          <Sample name={name} path={node.path} label="Newest records of its topic">
            The newest records of the topic {subject.topics[0]}, read beside the pipeline. Other producers may
            write to it, too.
          </Sample>
        )}
        <Configuration own={configuration(definition, node.path)} />
        <Next
          name={name}
          path={node.path}
          dead={node.dead_lettered + node.unrouted > 0}
          records={subject !== undefined}
        />
      </Stack>
    </Drawer>
  )
}

/** Whether its records are those of one topic that the definition names. */
const onlyTopic = ({ topics, open }: Subject) => topics.length === 1 && !open

function Configuration({ own }: { own: Record<string, unknown> }) {
  const keys = Object.entries(own)
  if (keys.length === 0) return <Text size="sm">No keys are set. Defaults apply.</Text>
  return (
    <Table
      label="Configuration"
      head={
        <>
          <th>Key</th>
          <th>Value</th>
        </>
      }
    >
      {keys.map(([key, value]) => (
        <tr key={key}>
          <td className="mono">{key}</td>
          <td className={`mono ${classes.value}`}>
            {typeof value === 'string' ? value : JSON.stringify(value)}
          </td>
        </tr>
      ))}
    </Table>
  )
}

interface NextProps {
  name: string
  path: string
  dead: boolean
  /** Whether it reads or writes a topic. */
  records: boolean
}

function Next({ name, path, dead, records }: NextProps) {
  const params = { name }
  return (
    <ul className={classes.next}>
      {records && (
        <li>
          <Link to="/pipelines/$name/records" params={params} search={{ of: path }}>
            Records of its topic
          </Link>
        </li>
      )}
      {dead && (
        <li>
          <Link to="/pipelines/$name/dead-letters" params={params} search={{ component: path }}>
            Dead letters of this component
          </Link>
        </li>
      )}
      <li>
        <Link to="/pipelines/$name/log" params={params} search={{ find: path }}>
          Log lines that name it
        </Link>
      </li>
      <li>
        <Link to="/pipelines/$name/trace" params={params}>
          Trace a record
        </Link>
      </li>
      <li>
        <Link to="/pipelines/$name/ledger" params={params}>
          Ledger by component
        </Link>
      </li>
    </ul>
  )
}
