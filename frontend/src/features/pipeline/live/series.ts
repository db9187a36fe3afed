import type { HeadgateEvent, MigrationStage, SeriesPoint } from '@/api/types'
import type { ChartMark } from '@/components/ui/TimeChart'
import { STAGES } from '@/domain/migrations'
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

/** Where a migration leaves a bend in the line: its pause, the first records of the new agent, and its end. */
const MIGRATED: Record<string, MigrationStage> = {
  'migration.pausing': 'PAUSING',
  'migration.resuming': 'RESUMING',
  'migration.committed': 'COMMITTED',
  'migration.rolling_back': 'ROLLING_BACK',
  'migration.rolled_back': 'ROLLED_BACK',
  'migration.needs_attention': 'NEEDS_ATTENTION',
}

/** What happened since the point before, in words; empty where nothing did. */
export function wordsAt(marks: ChartMark[], at: string, before: string | undefined): string {
  const [from, to] = [before ? Date.parse(before) / 1_000 : -Infinity, Date.parse(at) / 1_000]
  return marks
    .filter((mark) => mark.at > from && mark.at <= to)
    .toSorted((one, other) => one.at - other.at)
    .map(({ label }) => label)
    .join(', ')
}

/** The changes of phase and the migrations that explain a bend in the line. */
export function marksOf(events: HeadgateEvent[]): ChartMark[] {
  return events.flatMap((event) => {
    const label = labelOf(event)
    return label === undefined ? [] : [{ at: Date.parse(event.at) / 1_000, label }]
  })
}

function labelOf({ kind, data }: HeadgateEvent): string | undefined {
  if (kind !== 'phase.changed') return migrationMark(kind)
  const phase = MARKED.find((known) => known === data.new)
  return phase && PHASES[phase].label
}

function migrationMark(kind: string): string | undefined {
  const stage = MIGRATED[kind]
  return stage && `Migration: ${STAGES[stage].label.toLowerCase()}`
}
