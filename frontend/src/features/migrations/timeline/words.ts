import type { Timeline, TimelineBar, TimelineGate, TimelinePause, TimelineSpan } from '@/api/types'
import { GATE_LABELS, STAGES, type Gate } from '@/domain/migrations'
import { duration } from '@/lib/format'

const SIDES: Record<TimelineBar['side'], string> = { old: 'Old agent', new: 'New agent' }

/** Both lanes, the old agent first; a side without a run has none. */
export function lanesOf(
  bars: TimelineBar[],
): { side: TimelineBar['side']; label: string; bars: TimelineBar[] }[] {
  return (['old', 'new'] as const).flatMap((side) => {
    const own = bars.filter((bar) => bar.side === side)
    return own.length === 0 ? [] : [{ side, label: `${SIDES[side]}: ${runsIn(own)}`, bars: own }]
  })
}

function runsIn(bars: TimelineBar[]): string {
  const [numbers, revisions, hosts] = [
    bars.map(({ run }) => run),
    [...new Set(bars.map(({ revision }) => revision))],
    [...new Set(bars.map(({ host }) => host))],
  ]
  const runs = numbers.length === 1 ? `run ${numbers[0]}` : `runs ${numbers.join(', ')}`
  const of = revisions.length === 1 ? 'revision' : 'revisions'
  return `${runs}, ${of} ${revisions.join(', ')}, ${hosts.join(', ')}`
}

/** "Pause 6.5 s", "Rollback pause, between steps 21 s", "Pause, not over". */
export function pauseWords({ way, seconds, measured }: TimelinePause): string {
  const name = way === 'migration' ? 'Pause' : 'Rollback pause'
  if (seconds === null) return `${name}, not over`
  return measured
    ? `${name} ${duration(seconds * 1_000)}`
    : `${name}, between steps ${duration(seconds * 1_000)}`
}

export function gateWords({ stage, by, until }: TimelineGate): string {
  const where = GATE_LABELS[stage as Gate] ?? STAGES[stage].label
  if (by) return `${where}: passed by ${by}`
  return until === null ? `${where}: awaiting approval` : `${where}: not passed`
}

export interface Entry extends Pick<TimelineSpan, 'since' | 'until'> {
  key: string
  what: string
  details: string
}

/** Everything on the chart as rows, in the order of time. */
export function entriesOf({ stages, gates, pauses, bars }: Timeline): Entry[] {
  const entries = [
    ...stages.map(({ stage, ...span }) => ({ ...span, what: 'Stage', details: STAGES[stage].label })),
    ...gates.map((gate) => ({ ...gate, what: 'Gate', details: gateWords(gate) })),
    ...pauses.map((pause) => ({
      ...pause,
      what: pause.way === 'migration' ? 'Pause' : 'Rollback pause',
      details: pause.measured ? 'Measured between two deliveries' : 'Between steps',
    })),
    ...bars.flatMap(({ side, delivering, run, revision, host }) =>
      delivering.map((span) => ({
        ...span,
        what: `${SIDES[side]} delivers`,
        details: `Run ${run}, revision ${revision}, ${host}`,
      })),
    ),
  ]
  return entries
    .map(({ since, until, what, details }, index) => ({ key: String(index), since, until, what, details }))
    .toSorted((one, other) => Date.parse(one.since) - Date.parse(other.since))
}

/** The chart in one sentence, for who does not see it. */
export function summary(timeline: Timeline): string {
  const lanes = lanesOf(timeline.bars).map(({ label, bars }) =>
    bars.some(({ delivering }) => delivering.length > 0)
      ? `${label}, delivers`
      : `${label}, delivers nothing`,
  )
  const pauses = timeline.pauses.map(pauseWords)
  return (
    [...lanes, ...(pauses.length > 0 ? pauses : ['No pause'])].join('. ') + '. The table lists every part.'
  )
}
