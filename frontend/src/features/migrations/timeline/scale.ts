import type { Timeline, SeriesPoint, TimelinePause, TimelineSpan } from '@/api/types'

/** What is shown, in milliseconds since 1970. */
export interface Domain {
  from: number
  to: number
}

export function wholeOf({ since, until }: Pick<Timeline, 'since' | 'until'>): Domain {
  const from = Date.parse(since)
  return { from, to: Math.max(from + 1_000, Date.parse(until)) }
}

/** The first pause, with as much before and after it as it is long, at least five seconds. */
export function aroundPause(whole: Domain, { since, until }: TimelinePause): Domain {
  const [from, to] = [Date.parse(since), until === null ? whole.to : Date.parse(until)]
  const margin = Math.max(5_000, to - from)
  return {
    from: Math.max(whole.from, from - margin),
    to: Math.max(from + 1_000, Math.min(whole.to, to + margin)),
  }
}

/** Where a moment is, as a share of the width; outside of 0 to 1 where it is not shown. */
export function place(at: string | number, { from, to }: Domain): number {
  return ((typeof at === 'number' ? at : Date.parse(at)) - from) / (to - from)
}

/** Where a span is shown, in percent of the width; null where it is not. What is not over lasts until the end. */
export function clipped(
  { since, until }: Pick<TimelineSpan, 'since' | 'until'>,
  domain: Domain,
): { left: number; width: number } | null {
  const start = Math.max(0, place(since, domain))
  const end = Math.min(1, until === null ? 1 : place(until, domain))
  return end < start || start > 1 || end < 0 ? null : { left: 100 * start, width: 100 * (end - start) }
}

const SECOND_MS = 1_000
const STEPS_S = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800],
  ...[3_600, 7_200, 10_800, 21_600, 43_200, 86_400],
]
const MOST_TICKS = 5

/** Round moments of the axis, not more than fit. */
export function ticks({ from, to }: Domain): number[] {
  const step = (STEPS_S.find((each) => (to - from) / (each * SECOND_MS) <= MOST_TICKS) ?? 86_400) * SECOND_MS
  const first = Math.ceil(from / step) * step
  return Array.from(
    { length: Math.max(0, Math.floor((to - first) / step) + 1) },
    (_, index) => first + index * step,
  )
}

export type Figure = 'records_per_second' | 'lag_records'

const LEAST_GAP_MS = 20_000

/** Points that follow one another without a gap, in which nothing is known. */
export function runsOf(points: SeriesPoint[], figure: Figure): { at: number; value: number }[][] {
  const known = points.flatMap(({ at, [figure]: value }) =>
    value === null ? [] : [{ at: Date.parse(at), value }],
  )
  const gap = Math.max(LEAST_GAP_MS, 2.5 * spacing(known.map(({ at }) => at)))
  return known.reduce<{ at: number; value: number }[][]>((runs, point) => {
    const last = runs.at(-1)
    const before = last?.at(-1)
    if (last && before && point.at - before.at <= gap) last.push(point)
    else runs.push([point])
    return runs
  }, [])
}

/** The usual time between two points: they are kept as means of minutes after a while. */
function spacing(times: number[]): number {
  const between = times.slice(1).map((at, index) => at - (times[index] ?? at))
  return between.toSorted((one, other) => one - other)[Math.floor(between.length / 2)] ?? 0
}

/** The means before the first pause and after the last one; null where nothing is known, and where there is no pause. */
export function beforeAndAfter(points: SeriesPoint[], pauses: TimelinePause[], figure: Figure) {
  const [first, last] = [pauses[0], pauses.at(-1)]
  const meanOf = (kept: (at: number) => boolean) =>
    mean(points.flatMap(({ at, [figure]: value }) => (value !== null && kept(Date.parse(at)) ? [value] : [])))
  return {
    before: first ? meanOf((at) => at < Date.parse(first.since)) : null,
    after: last?.until ? meanOf((at) => at >= Date.parse(last.until ?? '')) : null,
  }
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}
