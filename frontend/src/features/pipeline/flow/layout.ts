import { sankey, sankeyLinkHorizontal } from 'd3-sankey'
import type { Graph, Place, Segment } from './graph'
import { keyOf, type Way } from './ways'

/** Two lines of text. */
const ROW = 38
const FLOW = 140
const BAR = 10
/** Right of the last column. */
const WORDS = 150
const LEAST_WIDTH = 720

export interface Box extends Place {
  x: number
  y: number
  width: number
  height: number
  records: number
  /** How much room there is for words behind it. */
  room: number
}

export interface Ribbon {
  way: Way
  parts: { d: string; width: number }[]
}

export interface Drawing {
  width: number
  height: number
  boxes: Box[]
  ribbons: Ribbon[]
}

/** The number of a place, by which ribbons lie at its sides: they cross no others there. */
function indexOf(end: unknown): number {
  return (end as { index: number }).index
}

/** Where everything is drawn: heights of boxes and widths of ribbons are to one scale. */
export function drawn(graph: Graph, given: number): Drawing {
  const width = Math.max(LEAST_WIDTH, given)
  const rows = [0, 1, 2, 3].map((column) => graph.places.filter((place) => place.column === column).length)
  const height = Math.max(...rows) * ROW + FLOW
  const { nodes, links } = sankey<Place, Segment>()
    .nodeId(({ id }) => id)
    .nodeAlign(({ column }) => column)
    .nodeSort(null as never) // the order that is given
    .linkSort(
      (one, other) =>
        indexOf(one.source) - indexOf(other.source) || indexOf(one.target) - indexOf(other.target),
    )
    .nodeWidth(BAR)
    .nodePadding(ROW)
    .extent([
      [1, ROW / 2],
      [width - WORDS, height - ROW / 2],
    ])({
    nodes: graph.places.map((place) => ({ ...place })),
    links: graph.segments.map((segment) => ({ ...segment })),
  })
  const between = (width - WORDS - BAR) / 3
  const boxes = nodes.map(({ x0 = 0, x1 = 0, y0 = 0, y1 = 0, value = 0, ...place }): Box => {
    const room = place.column === 3 ? WORDS : between - BAR
    return { ...place, x: x0, y: y0, width: x1 - x0, height: y1 - y0, records: value, room }
  })
  const line = sankeyLinkHorizontal<Place, Segment>()
  const ribbons = new Map<string, Ribbon>()
  for (const link of links) {
    const ribbon = ribbons.get(keyOf(link.way)) ?? { way: link.way, parts: [] }
    ribbon.parts.push({ d: line(link) ?? '', width: link.width ?? 0 })
    ribbons.set(keyOf(link.way), ribbon)
  }
  return { width, height, boxes, ribbons: [...ribbons.values()] }
}
