import { Graph, layout } from '@dagrejs/dagre'

export const WIDTH = 156
export const HEIGHT = 96
const BETWEEN_RANKS = 58
const BETWEEN_NODES = 20

export interface Shape {
  nodes: { path: string }[]
  edges: { origin: string; target: string }[]
}

/** The upper left corner of every node, from left to right in the order in which events go. */
export function places(shape: Shape): Map<string, { x: number; y: number }> {
  const graph = new Graph()
  graph.setGraph({ rankdir: 'LR', ranksep: BETWEEN_RANKS, nodesep: BETWEEN_NODES })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { path } of shape.nodes) graph.setNode(path, { width: WIDTH, height: HEIGHT })
  for (const { origin, target } of shape.edges) graph.setEdge(origin, target)
  layout(graph)
  return new Map(
    shape.nodes.map(({ path }) => {
      const { x, y } = graph.node(path)
      return [path, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }]
    }),
  )
}
