import type { Charts } from '@/api/types'
import { count, duration, NONE, rate } from '@/lib/format'

/** What the charts of a pipeline are drawn from. */
export type Values = (number | null)[]

export interface Line {
  label: string
  /** Name of the CSS variable that holds its colour. */
  color: string
  values: Values
}

export type ChartKind = 'lines' | 'stack' | 'bars'

export interface ChartSpec {
  key: 'rate' | 'lag' | 'age' | 'time' | 'restarts'
  title: string
  unit: string
  kind: ChartKind
  lines: Line[]
  format: (value: number | null) => string
  /** How far ticks may lie apart. */
  ticks?: number[]
}

/** Seconds as a duration. */
export const seconds = (value: number | null) => (value === null ? NONE : duration(value * 1_000))

const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
/** From a millisecond to days, so that each tick is a short duration. */
const DURATIONS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30].concat(
  [1, 2, 5, 10, 30, 60, 120, 360, 720, 1_440, 2_880, 7_200, 14_400].map((minutes) => minutes * 60),
)

const STEPS = [
  { key: 'deliver', label: 'Read, process, deliver', color: '--hg-chart-1' },
  { key: 'wait', label: 'Wait and retry', color: '--hg-chart-2' },
  { key: 'plan', label: 'Plan', color: '--hg-chart-3' },
  { key: 'dead_letters', label: 'Dead letters', color: '--hg-chart-4' },
  { key: 'other', label: 'Other', color: '--hg-chart-5' },
] as const

/** The charts in their order, each with its lines. */
export function specsOf(charts: Charts): ChartSpec[] {
  return [
    {
      key: 'rate',
      title: 'Rate',
      unit: 'records/s',
      kind: 'lines',
      format: rate,
      lines: [
        { label: 'Read', color: '--hg-chart-1', values: charts.read_per_second },
        { label: 'Delivered', color: '--hg-chart-2', values: charts.delivered_per_second },
      ],
    },
    {
      key: 'lag',
      title: 'Lag',
      unit: 'records',
      kind: 'lines',
      format: count,
      lines: [{ label: 'Waiting', color: '--hg-chart-2', values: charts.lag_records }],
    },
    {
      key: 'age',
      title: 'Lag in time',
      unit: '',
      kind: 'lines',
      format: seconds,
      ticks: DURATIONS,
      lines: [{ label: 'Oldest waiting record', color: '--hg-chart-4', values: charts.lag_seconds }],
    },
    {
      key: 'time',
      title: 'Batch time by step',
      unit: '',
      kind: 'stack',
      format: seconds,
      ticks: DURATIONS,
      lines: STEPS.map(({ key, label, color }) => ({
        label,
        color,
        values: charts.batch_seconds[key] ?? charts.at.map(() => null),
      })),
    },
    {
      key: 'restarts',
      title: 'Restarts after failures',
      unit: '',
      kind: 'bars',
      format: count,
      ticks: WHOLE,
      lines: [{ label: 'Restarts', color: '--hg-bad', values: charts.restarts }],
    },
  ]
}

export const isEmpty = (lines: Line[]) => lines.every(({ values }) => values.every((value) => value === null))

/** Why a chart has no data. */
export function reasonOf(key: ChartSpec['key'], charts: Charts, when: (at: string) => string): string {
  const until = charts.until
  if (charts.at.length === 0) return 'The range has just started.'
  if (until <= charts.created_at) return `The pipeline was created later, at ${when(charts.created_at)}.`
  if (key === 'restarts') return `Events from before ${when(charts.events_kept_since)} are deleted.`
  if (key === 'lag' || key === 'age') {
    if (until <= charts.lag_kept_since) return `Lag from before ${when(charts.lag_kept_since)} is deleted.`
    return 'The lag was not measured in this range.'
  }
  if (!charts.ran) return 'No agent ran in this range.'
  if (key === 'rate') return 'The ledger has no rows of this range yet.'
  return charts.batches.some((number) => number)
    ? 'The time of these batches was not measured.'
    : 'No batch was finished in this range.'
}

/** Each value lies over the whole of its window, so that a window alone is seen, and a gap is as long as it was. */
export function stepped(times: number[], step: number, columns: Values[]): [number[], ...Values[]] {
  const edge = step * 0.999
  return [
    times.flatMap((time) => [time, time + edge]),
    ...columns.map((values) => values.flatMap((value) => [value, value])),
  ]
}

/** Values on top of those before them; nothing where nothing is known. */
export function stacked(columns: Values[]): Values[] {
  const sums: Values[] = []
  for (const values of columns) {
    const below = sums.at(-1)
    sums.push(values.map((value, index) => (value === null ? null : value + (below?.[index] ?? 0))))
  }
  return sums
}

/** The window that a time lies in; null where it is outside. */
export function windowAt(times: number[], step: number, at: number | null): number | null {
  if (at === null || times.length === 0) return null
  const index = Math.floor((at - times[0]!) / step)
  return index >= 0 && index < times.length ? index : null
}

/** Everything in one text: a row for each time, empty where nothing is known. */
export function csvOf(charts: Charts): string {
  const steps = Object.entries(charts.batch_seconds)
  const head = [
    'at',
    'read_per_second',
    'delivered_per_second',
    'lag_records',
    'lag_seconds',
    'batches',
    ...steps.map(([name]) => `batch_seconds_${name}`),
    'restarts',
  ]
  const columns = [
    charts.at,
    charts.read_per_second,
    charts.delivered_per_second,
    charts.lag_records,
    charts.lag_seconds,
    charts.batches,
    ...steps.map(([, values]) => values ?? []),
    charts.restarts,
  ]
  const rows = charts.at.map((_, index) => columns.map((values) => values[index] ?? '').join(','))
  return [head.join(','), ...rows, ''].join('\n')
}
