import { UnstyledButton } from '@mantine/core'
import { useMemo } from 'react'
import type { Charts } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { useTimeZone } from '@/lib/preferences'
import { clockTime } from '@/lib/time'
import { isEmpty, reasonOf, windowAt, type ChartSpec } from './columns'
import { useAtCrosshair } from './crosshair'
import { wordsBetween } from './marks'
import type { Span } from './range'
import { TimeChart } from './TimeChart'
import classes from './charts.module.css'

interface ChartFigureProps {
  spec: ChartSpec
  charts: Charts
  times: number[]
  span: Span
  marks: number[]
  asTable: boolean
  when: (at: string) => string
  onTable: (key: string, shown: boolean) => void
  range: { zoomTo: (span: Span) => void; onKey: (key: string, at?: number | null) => boolean }
}

const BARS_PX = 84

/** A chart with its name and its values at the crosshair, or the same as a table; where it has no data, why. */
export function ChartFigure(props: ChartFigureProps) {
  const { spec, charts, times, span, marks, asTable, range } = props
  const empty = isEmpty(spec.lines)
  return (
    <figure className={classes.figure}>
      <figcaption className={classes.caption}>
        <span className={classes.title}>
          {spec.title}
          {spec.unit && <span className="dim"> {spec.unit}</span>}
        </span>
        {!empty && <Values spec={spec} times={times} step={charts.step} />}
        {!empty && (
          <UnstyledButton
            className={classes.toggle}
            aria-pressed={asTable}
            onClick={() => props.onTable(spec.key, !asTable)}
          >
            {asTable ? 'Chart' : 'Table'}
            <span className="visually-hidden"> of {spec.title}</span>
          </UnstyledButton>
        )}
      </figcaption>
      {empty && <p className={classes.none}>{reasonOf(spec.key, charts, props.when)}</p>}
      {!empty && asTable && <ValueTable spec={spec} charts={charts} times={times} />}
      {!empty && !asTable && (
        <TimeChart
          {...{ spec, times, span, marks }}
          step={charts.step}
          onZoom={range.zoomTo}
          onKey={range.onKey}
          height={spec.kind === 'bars' ? BARS_PX : undefined}
        />
      )}
    </figure>
  )
}

/** The values where the crosshair is, else the newest that are known. */
function Values({ spec, times, step }: { spec: ChartSpec; times: number[]; step: number }) {
  const zone = useTimeZone()
  const index = useAtCrosshair((at) => windowAt(times, step, at))
  const newest = useMemo(() => lastKnown(spec), [spec])
  const shown = index ?? newest
  return (
    <span className={classes.values}>
      {spec.lines.map(({ label, color, values }) => (
        <span key={label} className={classes.value}>
          <span className={classes.swatch} style={{ background: `var(${color})` }} aria-hidden />
          <span className="dim">{label}</span> {spec.format(values[shown] ?? null)}
        </span>
      ))}
      <span className={classes.at}>
        {times[shown] !== undefined && clockTime(times[shown] * 1_000, zone)}
      </span>
    </span>
  )
}

/** The last window of which anything is known. */
export function lastKnown({ lines }: ChartSpec): number {
  return Math.max(...lines.map(({ values }) => values.findLastIndex((value) => value !== null)))
}

function ValueTable({ spec, charts, times }: { spec: ChartSpec; charts: Charts; times: number[] }) {
  const newestFirst = charts.at.map((_, index) => charts.at.length - 1 - index)
  return (
    <Table
      label={`${spec.title}, newest first`}
      maxHeight={320}
      head={
        <>
          <th>Time</th>
          {spec.lines.map(({ label }) => (
            <th key={label} className="num">
              {label}
            </th>
          ))}
          <th>Events</th>
        </>
      }
    >
      {newestFirst.map((index) => (
        <tr key={charts.at[index]}>
          <td>
            <Moment at={charts.at[index]} />
          </td>
          {spec.lines.map(({ label, values }) => (
            <td key={label} className="num">
              {spec.format(values[index] ?? null)}
            </td>
          ))}
          <td>{wordsBetween(charts.marks, times[index]!, times[index]! + charts.step)}</td>
        </tr>
      ))}
    </Table>
  )
}
