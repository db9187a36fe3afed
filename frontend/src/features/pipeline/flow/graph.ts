import { componentWords, INPUTS, OUTCOMES, type Way } from './ways'

/** A place that records go through, from left to right: where they come from, what read them, which component decided,
 * and what became of them. */
export interface Place {
  id: string
  column: 0 | 1 | 2 | 3
  words: string
  /** Sets the colour. */
  outcome: Way['outcome'] | null
}

/** What of a way goes from one place to the next. */
export interface Segment {
  source: string
  target: string
  value: number
  way: Way
}

export interface Graph {
  places: Place[]
  segments: Segment[]
}

/** The ways as a graph. The segments into a place in the middle are as much as those out of it. */
export function graphOf(ways: Way[]): Graph {
  const places = new Map<string, Place>()
  const put = (place: Place) => {
    if (!places.has(place.id)) places.set(place.id, place)
    return place.id
  }
  const segments = ways.flatMap((way) => {
    const through = steps(way).map(put)
    return through.slice(1).map((target, index) => {
      return { source: through[index] ?? '', target, value: way.records, way }
    })
  })
  return { places: [...places.values()], segments }
}

function steps(way: Way): Place[] {
  const { source, channel, outcome, component } = way
  const query: Place = {
    id: `1 ${source} ${channel}`,
    column: 1,
    words: `${source} → ${channel}`,
    outcome: null,
  }
  const { word } = OUTCOMES[outcome]
  const by = componentWords(way)
  if (INPUTS.has(outcome)) {
    const words = outcome === 'read' ? by : component === '' ? word : `${word} by ${by}`
    return [{ id: `0 ${outcome} ${component}`, column: 0, words, outcome }, query]
  }
  return [
    query,
    { id: `2 ${component}`, column: 2, words: by, outcome: null },
    { id: `3 ${outcome}`, column: 3, words: word, outcome },
  ]
}
