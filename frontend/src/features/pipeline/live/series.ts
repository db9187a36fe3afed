import type { HeadgateEvent, SeriesPoint } from '@/api/types'
import type { ChartMark } from '@/components/ui/TimeChart'
import { PHASES } from '@/domain/phases'

export interface Columns {
  times: number[]
  rates: (number | null)[]
  lags: (number | null)[]
}

/** A longer silence than this is a gap in the line: nothing is known of it, so nothing is drawn. */
const GAP_S = 20

/** Points as uPlot wants them, in columns, with an empty point in every gap. */
export function toColumns(points: SeriesPoint[]): Columns {
  const columns: Columns = { times: [], rates: [], lags: [] }
  for (const point of points) {
    const time = Date.parse(point.at) / 1_000
    const last = columns.times.at(-1)
    if (last !== undefined && time - last > GAP_S) push(columns, last + 1, null, null)
    push(columns, time, point.records_per_second, point.lag_records)
  }
  return columns
}

function push({ times, rates, lags }: Columns, time: number, rate: number | null, lag: number | null): void {
  times.push(time)
  rates.push(rate)
  lags.push(lag)
}

const MARKED = [
  'RUNNING',
  'PAUSED',
  'STOPPED',
  'DEGRADED',
  'STALLED',
  'FAILED',
  'BLOCKED',
  'BACKOFF',
] as const

/** The changes of phase that explain a bend in the line. */
export function marksOf(events: HeadgateEvent[]): ChartMark[] {
  return events.flatMap((event) => {
    if (event.kind !== 'phase.changed') return []
    const phase = MARKED.find((known) => known === event.data.new)
    return phase ? [{ at: Date.parse(event.at) / 1_000, label: PHASES[phase].word }] : []
  })
}
