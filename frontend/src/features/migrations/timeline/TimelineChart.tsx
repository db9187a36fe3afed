import type { CSSProperties, ReactNode } from 'react'
import type { Timeline, SeriesPoint, TimelineBar, TimelineSpan } from '@/api/types'
import { useClockTime } from '@/components/ui/Time'
import { STAGES } from '@/domain/migrations'
import { count, rate } from '@/lib/format'
import { beforeAndAfter, clipped, type Domain, type Figure, place, runsOf, ticks } from './scale'
import classes from './timeline.module.css'
import { gateWords, lanesOf, pauseWords, summary } from './words'

interface ChartProps {
  timeline: Timeline
  points: SeriesPoint[]
  domain: Domain
}

/** Stages, gates, both agents, rate and lag over one axis; a pause is a band through all of them. */
export function TimelineChart({ timeline, points, domain }: ChartProps) {
  const { pauses, stages, gates, bars } = timeline
  return (
    <>
      <div className={classes.chart} role="img" aria-label={summary(timeline)}>
        {pauses.map((pause) => (
          <PauseLabel key={pause.way} span={pause} domain={domain}>
            {pauseWords(pause)}
          </PauseLabel>
        ))}
        <div className={classes.plot}>
          <Grid domain={domain} />
          {pauses.map((pause) => (
            <Part key={pause.way} span={pause} domain={domain} className={classes.pause} />
          ))}
          <Lane label="Stages">
            {stages.map((stage) => (
              <Part key={stage.since} span={stage} domain={domain} className={classes.stage}>
                {STAGES[stage.stage].label}
              </Part>
            ))}
          </Lane>
          {gates.length > 0 && (
            <Lane label="Gates">
              {gates.map((gate) => (
                <Part
                  key={`${gate.stage} ${gate.since}`}
                  span={gate}
                  domain={domain}
                  className={classes.gate}
                >
                  {gateWords(gate)}
                </Part>
              ))}
            </Lane>
          )}
          {lanesOf(bars).map((lane) => (
            <Lane key={lane.side} label={lane.label}>
              {lane.bars.map((bar) => (
                <Agent key={bar.run} bar={bar} domain={domain} />
              ))}
            </Lane>
          ))}
          <Series
            {...{ timeline, points, domain }}
            name="Rate"
            unit="records/s"
            figure="records_per_second"
            format={rate}
            color="--hg-chart-1"
          />
          <Series
            {...{ timeline, points, domain }}
            name="Lag"
            unit="records"
            figure="lag_records"
            format={(value) => count(value)}
            color="--hg-chart-2"
          />
        </div>
        <Axis domain={domain} />
      </div>
      <ul className={classes.legend} aria-label="Legend">
        <li>
          <span className={classes.delivering} data-side="old" /> old agent delivers
        </li>
        <li>
          <span className={classes.delivering} data-side="new" /> new agent delivers
        </li>
        <li>
          <span className={classes.idle} /> starts, stands by or stops
        </li>
        {pauses.length > 0 && (
          <li>
            <span className={classes.pause} /> pause
          </li>
        )}
        {gates.length > 0 && (
          <li>
            <span className={classes.gate} /> gate
          </li>
        )}
      </ul>
    </>
  )
}

function Lane({ label, children }: { label: ReactNode; children: ReactNode }) {
  return (
    <div className={classes.lane}>
      <div className={classes.label}>{label}</div>
      <div className={classes.track}>{children}</div>
    </div>
  )
}

interface PartProps {
  span: Pick<TimelineSpan, 'since' | 'until'>
  domain: Domain
  className: string | undefined
  side?: TimelineBar['side']
  children?: ReactNode
}

/** A span on a lane, with its words where they fit. */
function Part({ span, domain, className, side, children }: PartProps) {
  const where = clipped(span, domain)
  if (!where) return null
  const style: CSSProperties = { left: `${where.left}%`, width: `${where.width}%` }
  return (
    <div
      className={className}
      data-side={side}
      style={style}
      title={typeof children === 'string' ? children : undefined}
    >
      {children && <span className={classes.words}>{children}</span>}
    </div>
  )
}

function Agent({ bar, domain }: { bar: TimelineBar; domain: Domain }) {
  return (
    <>
      <Part span={{ since: bar.started_at, until: bar.ended_at }} domain={domain} className={classes.idle} />
      {bar.delivering.map((span) => (
        <Part key={span.since} span={span} domain={domain} className={classes.delivering} side={bar.side}>
          delivers
        </Part>
      ))}
    </>
  )
}

function PauseLabel({ span, domain, children }: Omit<PartProps, 'className'>) {
  const where = clipped(span, domain)
  if (!where) return null
  return (
    <div className={classes.above}>
      <strong style={anchored(where.left + where.width / 2)}>{children}</strong>
    </div>
  )
}

/** Centred on a place, and whole at both ends. */
function anchored(percent: number): CSSProperties {
  return { left: `${percent}%`, transform: `translateX(-${Math.min(100, Math.max(0, percent))}%)` }
}

function Grid({ domain }: { domain: Domain }) {
  return ticks(domain).map((tick) => (
    <span key={tick} className={classes.grid} style={{ left: `${100 * place(tick, domain)}%` }} />
  ))
}

function Axis({ domain }: { domain: Domain }) {
  const clock = useClockTime()
  return (
    <div className={classes.axis}>
      {ticks(domain).map((tick) => (
        <span key={tick} style={onTick(100 * place(tick, domain))}>
          {clock(tick)}
        </span>
      ))}
    </div>
  )
}

/** Half of a clock time, in percent of the narrowest chart. */
const EDGE = 8

/** Centred below its line, but for the ends of the axis. */
function onTick(percent: number): CSSProperties {
  return percent < EDGE || percent > 100 - EDGE
    ? anchored(percent)
    : { left: `${percent}%`, transform: 'translateX(-50%)' }
}

const [WIDE, HIGH] = [1_000, 60]

interface SeriesProps extends ChartProps {
  name: string
  unit: string
  figure: Figure
  format: (value: number | null) => string
  color: string
}

/** One line over the same axis, with what it was before and after in words. */
function Series({ timeline, points, domain, name, unit, figure, format, color }: SeriesProps) {
  const runs = runsOf(points, figure)
  const top = Math.max(1, ...runs.flat().map(({ value }) => value))
  const x = (at: number) => (WIDE * place(at, domain)).toFixed(1)
  const y = (value: number) => (HIGH - (value / top) * (HIGH - 4)).toFixed(1)
  const { before, after } = beforeAndAfter(points, timeline.pauses, figure)
  const figures = [
    before !== null && `${format(before)} before the pause`,
    after !== null && `${format(after)} after it`,
    `at most ${format(top)} ${unit}`,
  ]
  return (
    <div className={classes.lane}>
      <div className={classes.label}>
        {runs.length === 0
          ? `${name}: no data kept of this time`
          : `${name}: ${figures.filter(Boolean).join(', ')}`}
      </div>
      <svg className={classes.series} viewBox={`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" aria-hidden>
        {runs.map((run) => {
          const line = run.map(({ at, value }) => `${x(at)},${y(value)}`).join(' L')
          const [first, last] = [run[0]?.at ?? 0, run.at(-1)?.at ?? 0]
          return (
            <g key={first}>
              <path
                d={`M${x(first)},${HIGH} L${line} L${x(last)},${HIGH} Z`}
                fill={`var(${color})`}
                opacity={0.14}
              />
              <path d={`M${line} l0.01,0`} fill="none" stroke={`var(${color})`} className={classes.line} />
            </g>
          )
        })}
      </svg>
    </div>
  )
}
