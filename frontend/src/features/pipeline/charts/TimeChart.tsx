import { useEffect, useRef, type KeyboardEvent } from 'react'
import { useComputedColorScheme } from '@mantine/core'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useTimeZone, type TimeZone } from '@/lib/preferences'
import { compactCount } from '@/lib/format'
import { axisTime } from '@/lib/time'
import { stacked, stepped, windowAt, type ChartSpec } from './columns'
import { useAtCrosshair, useCrosshair, type Crosshair } from './crosshair'
import type { Span } from './range'
import classes from './charts.module.css'

export const AXIS_PX = 60
export const RIGHT_PX = 12

export interface TimeChartProps {
  spec: ChartSpec
  /** When each window begins, in seconds since 1970, rising. */
  times: number[]
  step: number
  span: Span
  /** Times of events: thin uprights. */
  marks: number[]
  onZoom: (span: Span) => void
  onKey: (key: string, at: number | null) => boolean
  height?: number
}

/** Lines, areas or bars over time. The arrow keys move the crosshair of all charts; a drag chooses a shorter range. */
export function TimeChart(props: TimeChartProps) {
  const { spec, times, step, span, marks, onKey, height = 140 } = props
  const zone = useTimeZone()
  const scheme = useComputedColorScheme('light')
  const crosshair = useCrosshair()
  const holder = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const latest = useRef(props)
  const index = useIndex(props)

  useEffect(() => {
    latest.current = props
  })

  useEffect(() => {
    const element = holder.current
    if (!element) return
    const made = new uPlot(
      chartOptions(latest, zone, element, height, crosshair),
      dataOf(latest.current),
      element,
    )
    chart.current = made
    const observer = new ResizeObserver(([entry]) => {
      if (entry) made.setSize({ width: Math.floor(entry.contentRect.width), height })
    })
    observer.observe(element)
    const unsubscribe = crosshair.subscribe(() => follow(made, crosshair.at))
    return () => {
      unsubscribe()
      observer.disconnect()
      made.destroy()
      chart.current = null
    }
  }, [zone, scheme, height, crosshair])

  useEffect(() => {
    chart.current?.setData(dataOf(latest.current))
  }, [spec, times, step, span, marks])

  return (
    <div
      ref={holder}
      className={classes.plot}
      style={{ minHeight: height }}
      role="slider"
      tabIndex={0}
      aria-label={`${spec.title} over time`}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, times.length - 1)}
      aria-valuenow={index}
      aria-valuetext={valueText(props, index, zone)}
      aria-describedby="chart-keys"
      onKeyDown={(event) => {
        if (onKey(rangeKey(event), crosshair.at)) event.preventDefault()
        else moveCrosshair(event, crosshair, times, step)
      }}
      onBlur={() => crosshair.set(null)}
      data-chart={spec.key}
    />
  )
}

/** The window that the crosshair is in, else the last one. */
function useIndex({ times, step }: TimeChartProps): number {
  return useAtCrosshair((at) => windowAt(times, step, at)) ?? Math.max(0, times.length - 1)
}

function valueText({ spec, times }: TimeChartProps, index: number, zone: TimeZone): string {
  const at = times[index]
  if (at === undefined) return 'no data'
  const values = spec.lines.map(({ label, values: own }) => `${label} ${spec.format(own[index] ?? null)}`)
  return `${axisTime(at, 60, zone)}: ${values.join(', ')}`
}

/** What a key asks of the range: with Shift, the arrows move it. */
function rangeKey({ key, shiftKey }: KeyboardEvent): string {
  return (shiftKey && { ArrowLeft: '<', ArrowRight: '>' }[key]) || key
}

function dataOf({ spec, times, step }: TimeChartProps): uPlot.AlignedData {
  const columns = spec.lines.map(({ values }) => values)
  const drawn = spec.kind === 'stack' ? stacked(columns).toReversed() : columns
  return stepped(times, step, drawn)
}

const tickOf = (spec: ChartSpec, tick: number) => (tick === 0 ? '0' : spec.format(tick))

/** Shows the crosshair that another chart has moved. */
function follow(chart: uPlot, at: number | null): void {
  const left = at === null ? -10 : chart.valToPos(at, 'x')
  chart.setCursor({ left, top: at === null ? -10 : 1 }, false)
}

const MOVES: Record<string, (index: number, last: number) => number> = {
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  PageUp: (index) => index - 30,
  PageDown: (index) => index + 30,
  Home: () => 0,
  End: (_, last) => last,
}

function moveCrosshair(event: KeyboardEvent, crosshair: Crosshair, times: number[], step: number): void {
  const move = MOVES[event.key]
  if (!move || times.length === 0) return
  event.preventDefault()
  const last = times.length - 1
  const next = Math.min(last, Math.max(0, move(windowAt(times, step, crosshair.at) ?? last, last)))
  crosshair.set(times[next]! + step / 2)
}

function chartOptions(
  latest: { current: TimeChartProps },
  zone: TimeZone,
  element: HTMLElement,
  height: number,
  crosshair: Crosshair,
): uPlot.Options {
  const { spec } = latest.current
  const style = getComputedStyle(element)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = { stroke: color('--hg-dim'), font: `11px ${style.fontFamily}`, ticks: { show: false } }
  const grid = { stroke: color('--hg-chart-grid'), width: 1 }
  return {
    width: element.clientWidth || 600,
    height,
    legend: { show: false },
    padding: [8, RIGHT_PX, 0, 0],
    tzDate: (seconds) =>
      zone === 'utc' ? uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC') : new Date(seconds * 1e3),
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
    scales: {
      x: { range: () => [latest.current.span.from, latest.current.span.to] },
      y: { range: (_, __, max) => [0, Math.max(spec.kind === 'bars' ? 1 : 0.01, (max ?? 0) * 1.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 90,
        values: (_, ticks, __, ___, increment) => ticks.map((tick) => axisTime(tick, increment, zone)),
      },
      {
        ...axis,
        grid,
        size: AXIS_PX,
        space: 34,
        incrs: spec.ticks,
        values: (_, ticks) => ticks.map((tick) => (spec.unit ? compactCount(tick) : tickOf(spec, tick))),
      },
    ],
    series: [{}, ...seriesOf(spec, color)],
    hooks: {
      setCursor: [(chart) => crosshair.set(timeAt(chart))],
      setSelect: [(chart) => chooseRange(chart, latest.current.onZoom)],
      draw: [(chart) => drawMarks(chart, latest.current.marks, color('--hg-line-strong'))],
    },
  }
}

function seriesOf({ kind, lines }: ChartSpec, color: (name: string) => string): uPlot.Series[] {
  const drawn = kind === 'stack' ? lines.toReversed() : lines
  return drawn.map((line) => {
    const stroke = color(line.color)
    const fill = kind === 'lines' ? `${stroke}1c` : stroke
    return { stroke, fill, width: kind === 'lines' ? 1.5 : 1, points: { show: false }, spanGaps: false }
  })
}

function timeAt(chart: uPlot): number | null {
  const left = chart.cursor.left ?? -1
  return left < 0 ? null : chart.posToVal(left, 'x')
}

/** A drag of a few pixels is a click that slipped. */
const LEAST_DRAG_PX = 6

function chooseRange(chart: uPlot, onZoom: (span: Span) => void): void {
  const { left, width } = chart.select
  if (width === 0) return
  chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  if (width < LEAST_DRAG_PX) return
  onZoom({ from: chart.posToVal(left, 'x'), to: chart.posToVal(left + width, 'x') })
}

function drawMarks(chart: uPlot, marks: number[], color: string): void {
  const { ctx, bbox } = chart
  ctx.save()
  ctx.strokeStyle = color
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  for (const mark of marks) {
    const x = Math.round(chart.valToPos(mark, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}
