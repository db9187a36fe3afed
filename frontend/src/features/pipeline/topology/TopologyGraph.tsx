import '@xyflow/react/dist/base.css'
import { Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps } from '@xyflow/react'
import { memo, useMemo } from 'react'
import type { Topology } from '@/api/types'
import { rate } from '@/lib/format'
import { Figures, kindOf, State, titleOf } from './Figures'
import { HEIGHT, places, WIDTH, type Shape } from './layout'
import { seconds, type NodeView } from './nodes'
import classes from './topology.module.css'

interface GraphProps {
  topology: Topology
  views: NodeView[]
  selected: string | undefined
  onSelect: (path: string) => void
}

type ComponentNode = Node<{ view: NodeView; seconds: number; onSelect: () => void }, 'component'>

const NODE_TYPES = { component: Component }
/** A label above its edge covers nothing of it. */
const ABOVE = { transform: 'translateY(-9px)' }
const FIT = { padding: 0.06, maxZoom: 1 }
const WIDEST = 3

/** The graph from left to right, with what goes over each edge. It moves and zooms; its nodes stay where they are. */
export const TopologyGraph = memo(function TopologyGraph(props: GraphProps) {
  const { topology, views, selected, onSelect } = props
  const shape = shapeOf(topology)
  const at = useMemo(() => places(JSON.parse(shape) as Shape), [shape])
  const time = seconds(topology)
  const nodes = views.map((view): ComponentNode =>
    nodeOf(view, at.get(view.node.path), time, selected, onSelect),
  )
  const most = Math.max(1, ...topology.edges.map(({ records }) => records))
  const edges = topology.edges.map(({ origin, target, records }): Edge => ({
    id: `${origin}>${target}`,
    source: origin,
    target,
    type: 'smoothstep',
    label: `${rate(records / time)}/s`,
    labelShowBg: false,
    labelStyle: ABOVE,
    focusable: false,
    style: { strokeWidth: 1 + WIDEST * Math.sqrt(records / most) },
    className: records > 0 ? classes.edge : classes.idleEdge,
  }))
  const height = Math.max(...[...at.values()].map(({ y }) => y)) + HEIGHT
  return (
    <div className={classes.graph} style={{ height: Math.min(560, Math.max(200, height + 110)) }}>
      <ReactFlow
        key={shape}
        aria-label="Components and what goes through them"
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesReconnectable={false}
        deleteKeyCode={null}
        zoomOnScroll={false}
        preventScrolling={false}
        minZoom={0.2}
        maxZoom={1.5}
        fitView
        fitViewOptions={FIT}
        nodesFocusable={false}
        proOptions={{ hideAttribution: true }}
      >
        <Controls
          showInteractive={false}
          fitViewOptions={FIT}
          position="top-right"
          orientation="horizontal"
        />
      </ReactFlow>
    </div>
  )
})

/** The graph without its figures: these come every few seconds, and move nothing. */
function shapeOf({ nodes, edges }: Topology): string {
  const shape: Shape = {
    nodes: nodes.map(({ path }) => ({ path })),
    edges: edges.map(({ origin, target }) => ({ origin, target })),
  }
  return JSON.stringify(shape)
}

function nodeOf(
  view: NodeView,
  position = { x: 0, y: 0 },
  time: number,
  selected: string | undefined,
  onSelect: (path: string) => void,
): ComponentNode {
  const { path } = view.node
  return {
    id: path,
    type: 'component',
    position,
    width: WIDTH,
    height: HEIGHT,
    selected: path === selected,
    data: { view, seconds: time, onSelect: () => onSelect(path) },
  }
}

function Component({ data, selected }: NodeProps<ComponentNode>) {
  const { node, state } = data.view
  return (
    <button
      type="button"
      className={classes.node}
      data-tone={state?.tone}
      data-selected={selected || undefined}
      onClick={data.onSelect}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} className={classes.handle} />
      <span className={classes.name} title={titleOf(node)}>
        {titleOf(node)}
      </span>
      <span className={classes.kind}>{kindOf(node)}</span>
      {state && <State state={state} />}
      <Figures node={node} seconds={data.seconds} />
      <Handle type="source" position={Position.Right} isConnectable={false} className={classes.handle} />
    </button>
  )
}
