import { useEffect, useRef, useState, type KeyboardEvent } from 'react'
import { useComputedColorScheme } from '@mantine/core'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useTimeZone, type TimeZone } from '@/lib/preferences'
import { clockTime } from '@/lib/time'
import { compactCount } from '@/lib/format'
import classes from './chart.module.css'
import { freeLine } from './chartMarks'

export interface ChartMark {
  at: number
  label: string
}

interface TimeChartProps {
  label: string
  unit: string
  /** Name of the CSS variable that holds the line's colour. */
  color: string
  /** Seconds since 1970, rising. */
  times: number[]
  values: (number | null)[]
  format: (value: number | null) => string
  marks?: ChartMark[]
  height?: number
}

const SYNC_KEY = 'headgate'
/** Seconds shown on either side of a point that is alone. */
const AROUND_ONE_S = 60

/** One line over time. The arrow keys move a cursor over it, and what the cursor stands on is said in words. */
export function TimeChart(props: TimeChartProps) {
  const { label, unit, times, values, format, height = 150 } = props
  const zone = useTimeZone()
  const scheme = useComputedColorScheme('light')
  const holder = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const latest = useRef(props)
  const [index, setIndex] = useState<number | null>(null)

  useEffect(() => {
    latest.current = props
  })

  useEffect(() => {
    const element = holder.current
    if (!element) return
    const made = new uPlot(
      chartOptions(latest, zone, element, height, setIndex),
      dataOf(latest.current),
      element,
    )
    chart.current = made
    const observer = new ResizeObserver(([entry]) => {
      if (entry) made.setSize({ width: Math.floor(entry.contentRect.width), height })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      chart.current = null
    }
  }, [zone, scheme, height])

  useEffect(() => {
    chart.current?.setData([times, values])
  }, [times, values])

  const shown = index ?? times.length - 1
  const readout = times.length === 0 ? 'no data yet' : `${format(values[shown] ?? null)} ${unit}`
  return (
    <figure className={classes.figure}>
      <figcaption className={classes.caption}>
        <span className={classes.name}>
          <span className={classes.swatch} style={{ background: `var(${props.color})` }} aria-hidden />
          {label}
        </span>
        <span className={classes.readout}>
          {readout}
          {index !== null && <span className="dim"> at {clockTime((times[shown] ?? 0) * 1_000, zone)}</span>}
        </span>
      </figcaption>
      <div
        ref={holder}
        className={classes.plot}
        style={{ minHeight: height }}
        role="slider"
        tabIndex={0}
        aria-label={`${label} over time`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={Math.max(0, shown)}
        aria-valuetext={`${readout} at ${clockTime((times[shown] ?? 0) * 1_000, zone)}`}
        onKeyDown={(event) => moveCursor(event, chart.current, shown)}
      />
    </figure>
  )
}

function dataOf({ times, values }: TimeChartProps): uPlot.AlignedData {
  return [times, values]
}

const STEPS: Record<string, (index: number, last: number) => number> = {
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  PageUp: (index) => index - 30,
  PageDown: (index) => index + 30,
  Home: () => 0,
  End: (_, last) => last,
}

function moveCursor(event: KeyboardEvent, chart: uPlot | null, index: number): void {
  const step = STEPS[event.key]
  const times = chart?.data[0]
  if (!step || !chart || !times?.length) return
  event.preventDefault()
  const next = Math.min(times.length - 1, Math.max(0, step(index, times.length - 1)))
  chart.setCursor({ left: chart.valToPos(times[next] ?? 0, 'x'), top: 1 })
}

function chartOptions(
  latest: { current: TimeChartProps },
  zone: TimeZone,
  element: HTMLElement,
  height: number,
  onCursor: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(element)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = { stroke: color('--hg-dim'), font: `11px ${style.fontFamily}`, ticks: { show: false } }
  const grid = { stroke: color('--hg-chart-grid'), width: 1 }
  const line = color(latest.current.color)
  return {
    width: element.clientWidth || 600,
    height,
    legend: { show: false },
    padding: [8, 24, 0, 0],
    tzDate: (seconds) =>
      zone === 'utc' ? uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC') : new Date(seconds * 1e3),
    cursor: {
      y: false,
      drag: { x: false, y: false },
      sync: { key: SYNC_KEY },
      points: { size: 7, fill: line },
    },
    scales: {
      x: { range: (_, min, max) => (min === max ? [min - AROUND_ONE_S, max + AROUND_ONE_S] : [min, max]) },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 90,
        values: (_, ticks) => ticks.map((tick) => clockTime(tick * 1e3, zone)),
      },
      { ...axis, grid, size: 52, space: 34, values: (_, ticks) => ticks.map((tick) => compactCount(tick)) },
    ],
    series: [{}, { stroke: line, width: 1.5, fill: `${line}22`, points: { show: false }, spanGaps: false }],
    hooks: {
      setCursor: [(chart) => onCursor(chart.cursor.idx ?? null)],
      draw: [(chart) => drawMarks(chart, latest.current.marks ?? [], color('--hg-dim'))],
    },
  }
}

/** Dashed uprights where the state changed, each with its word. */
function drawMarks(chart: uPlot, marks: ChartMark[], color: string): void {
  const { ctx, bbox } = chart
  const { min = 0, max = 0 } = chart.scales.x ?? {}
  ctx.save()
  ctx.strokeStyle = color
  ctx.fillStyle = color
  ctx.font = `${10 * devicePixelRatio}px sans-serif`
  ctx.textAlign = 'left'
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio])
  const ends: number[] = []
  for (const mark of marks.toSorted((one, other) => one.at - other.at)) {
    if (mark.at < (min ?? 0) || mark.at > (max ?? 0)) continue
    const x = Math.round(chart.valToPos(mark.at, 'x', true))
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    const line = freeLine(ends, x)
    if (line === null) continue
    ctx.fillText(mark.label, x + 3 * devicePixelRatio, bbox.top + (9 + 11 * line) * devicePixelRatio)
    ends[line] = x + ctx.measureText(mark.label).width + 8 * devicePixelRatio
  }
  ctx.restore()
}
