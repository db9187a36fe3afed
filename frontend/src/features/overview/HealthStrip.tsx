import { useId, useState } from 'react'
import type { Phase } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { PhaseBadge } from '@/components/ui/PhaseBadge'
import { Moment } from '@/components/ui/Time'
import { PHASES, type Tone } from '@/domain/phases'
import { daySaid, labelOf, slotStart, spansOf, type History, type Span } from './strip'
import classes from './strip.module.css'

const HEIGHT = 12

/** How high a bar stands: what requires action is the highest, so that colour is not all that tells phases apart. */
const HEIGHTS: Record<Tone, number> = { bad: 12, warn: 9, busy: 7, ok: 5, held: 3, idle: 1.5 }

/** The last 24 hours of a pipeline; a click shows them as a table. */
export function HealthStrip({ name, history }: { name: string; history: History }) {
  const [open, setOpen] = useState(false)
  const id = useId()
  const spans = spansOf(history)
  return (
    <div className={classes.strip}>
      <button
        type="button"
        className={classes.open}
        aria-expanded={open}
        aria-controls={id}
        aria-label={`Last 24 hours of ${name}: ${daySaid(history)}`}
        onClick={() => setOpen(!open)}
      >
        <Bars spans={spans} slots={history.phases.length} />
      </button>
      <div id={id}>{open && <Spans name={name} history={history} spans={spans} />}</div>
    </div>
  )
}

export function Bars({ spans, slots }: { spans: Span[]; slots: number }) {
  return (
    <svg viewBox={`0 0 ${slots} ${HEIGHT}`} preserveAspectRatio="none" className={classes.bars} aria-hidden>
      {spans.map(({ phase, slot, slots: width }) => (
        <Bar key={slot} phase={phase} x={slot} width={width} />
      ))}
    </svg>
  )
}

function Bar({ phase, x, width }: { phase: Phase | null; x: number; width: number }) {
  if (phase === null) return null
  if (phase === 'UNKNOWN')
    return <line className={classes.unknown} x1={x} x2={x + width} y1={HEIGHT / 2} y2={HEIGHT / 2} />
  const { tone } = PHASES[phase]
  const height = HEIGHTS[tone]
  return <rect data-tone={tone} x={x} width={width} y={HEIGHT - height} height={height} />
}

function Spans({ name, history, spans }: { name: string; history: History; spans: Span[] }) {
  return (
    <Table
      label={`Last 24 hours of ${name}`}
      maxHeight={220}
      head={
        <>
          <th>From</th>
          <th>Phase</th>
        </>
      }
    >
      {spans.toReversed().map(({ phase, slot }) => (
        <tr key={slot}>
          <td>
            <Moment at={slotStart(history, slot)} />
          </td>
          <td>{phase === null ? labelOf(phase) : <PhaseBadge phase={phase} />}</td>
        </tr>
      ))}
    </Table>
  )
}

const SHOWN: Phase[] = ['RUNNING', 'STARTING', 'DEGRADED', 'FAILED', 'PAUSED', 'STOPPED', 'UNKNOWN']
const WORDS: Partial<Record<Phase, string>> = {
  STARTING: 'Starting or stopping',
  DEGRADED: 'Degraded or backing off',
  FAILED: 'Blocked, failed or stalled',
}

/** What the bars of all strips mean. */
export function StripLegend() {
  return (
    <ul className={classes.legend} aria-label="Phases of the last 24 hours">
      {SHOWN.map((phase) => (
        <li key={phase}>
          <span className={classes.sample}>
            <Bars spans={[{ phase, slot: 0, slots: 4 }]} slots={4} />
          </span>
          {WORDS[phase] ?? PHASES[phase].label}
        </li>
      ))}
    </ul>
  )
}
