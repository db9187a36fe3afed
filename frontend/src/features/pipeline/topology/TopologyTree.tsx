import { UnstyledButton } from '@mantine/core'
import type { Topology } from '@/api/types'
import { Figures, kindOf, State, titleOf } from './Figures'
import { seconds, type NodeView } from './nodes'
import classes from './topology.module.css'

interface TreeProps {
  topology: Topology
  views: NodeView[]
  onSelect: (path: string) => void
}

/** The graph as nested lists: the same figures for screen readers and for small widths. */
export function TopologyTree({ topology, views, onSelect }: TreeProps) {
  return (
    <div role="group" aria-label="Components" className={classes.tree}>
      <ul>
        {views
          .filter(({ node }) => node.kind === 'source')
          .map((view) => (
            <Branch key={view.node.path} view={view} topology={topology} views={views} onSelect={onSelect} />
          ))}
      </ul>
    </div>
  )
}

function Branch({ view, ...rest }: TreeProps & { view: NodeView }) {
  const { topology, views, onSelect } = rest
  const { node, state } = view
  const next = topology.edges.filter(({ origin }) => origin === node.path)
  return (
    <li>
      <UnstyledButton className={classes.branch} data-tone={state?.tone} onClick={() => onSelect(node.path)}>
        <span className={classes.name}>{titleOf(node)}</span>{' '}
        <span className={classes.kind}>{kindOf(node)}</span>
        {state && <State state={state} />}
        <Figures node={node} seconds={seconds(topology)} />
      </UnstyledButton>
      {next.length > 0 && (
        <ul>
          {next.map(({ target }) => {
            const found = views.find((each) => each.node.path === target)
            return found && <Branch key={target} {...rest} view={found} />
          })}
        </ul>
      )}
    </li>
  )
}
