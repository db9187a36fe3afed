import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react'
import { useTimeZone } from '@/lib/preferences'
import { fullTime } from '@/lib/time'
import { windowAt } from './columns'
import { useAtCrosshair, useCrosshair } from './crosshair'
import {
  cellAfter,
  channelOf,
  colorOf,
  nameOf,
  rowHeight,
  type Cell,
  type Measure,
  type PartitionColumns,
} from './heat'
import type { Span } from './range'
import { AXIS_PX, RIGHT_PX } from './TimeChart'
import classes from './charts.module.css'

interface HeatCanvasProps {
  partitions: PartitionColumns[]
  measure: Measure
  times: number[]
  step: number
  span: Span
  top: number
  format: (value: number | null) => string
}

/** One row for each partition, one column for each window. The arrow keys go from cell to cell. */
export function HeatCanvas(props: HeatCanvasProps) {
  const { partitions, measure, times, step } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const crosshair = useCrosshair()
  const [row, setRow] = useState<number | null>(null)
  const column = useAtCrosshair((at) => windowAt(times, step, at))
  const height = rowHeight(partitions.length)
  const words = useCellWords(props, row, column)
  useDrawing(canvas, props, height)

  const go = ({ row: next, column: at }: Cell) => {
    setRow(next)
    crosshair.set(times[at]! + step / 2)
    canvas.current?.parentElement?.parentElement
      ?.querySelector(`[data-row="${next}"]`)
      ?.scrollIntoView({ block: 'nearest' })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const from = { row: row ?? 0, column: column ?? times.length - 1 }
    const next = cellAfter(event.key, from, partitions.length, times.length)
    if (!next) return
    event.preventDefault()
    go(next)
  }
  const onPointerMove = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    const { from, to } = props.span
    crosshair.set(from + ((event.clientX - box.left) / box.width) * (to - from))
    setRow(Math.min(partitions.length - 1, Math.floor((event.clientY - box.top) / height)))
  }
  return (
    <>
      <p className={classes.cell}>{words}</p>
      <div
        className={classes.heat}
        role="slider"
        aria-label={`Lag by partition over time, ${measure === 'records' ? 'in records' : 'in time'}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, partitions.length * times.length - 1)}
        aria-valuenow={(row ?? 0) * times.length + (column ?? 0)}
        aria-valuetext={words}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <div className={classes.heatNames} style={{ width: AXIS_PX }} aria-hidden>
          {partitions.map((each, index) => (
            <div
              key={`${each.source} ${each.channel} ${nameOf(each)}`}
              data-row={index}
              data-chosen={index === row || undefined}
              style={{ height }}
              title={`${nameOf(each)}, ${channelOf(each)}`}
            >
              {(height >= 12 || index % 8 === 0) && each.partition}
            </div>
          ))}
        </div>
        <div
          className={classes.heatCells}
          style={{ marginRight: RIGHT_PX, height: height * partitions.length }}
        >
          <canvas
            ref={canvas}
            onPointerMove={onPointerMove}
            onPointerLeave={() => {
              crosshair.set(null)
              setRow(null)
            }}
          />
          {row !== null && <span className={classes.heatRow} style={{ top: row * height, height }} />}
        </div>
      </div>
    </>
  )
}

/** What the chosen cell holds, in words. */
function useCellWords(props: HeatCanvasProps, row: number | null, column: number | null): string {
  const { partitions, measure, times, format } = props
  const zone = useTimeZone()
  const partition = row === null ? undefined : partitions[row]
  if (!partition || column === null) return 'Point at a cell, or use the arrow keys.'
  const value = partition[measure][column] ?? null
  const where = `${nameOf(partition)}, ${channelOf(partition)}, ${fullTime(times[column]! * 1_000, zone)}`
  return `${where}: ${value === null ? 'not measured' : format(value)}`
}

function useDrawing(canvas: { current: HTMLCanvasElement | null }, props: HeatCanvasProps, height: number) {
  const scheme = useComputedColorScheme('light')
  const { partitions, measure, times, step, span, top } = props
  useEffect(() => {
    const element = canvas.current
    const parent = element?.parentElement
    if (!element || !parent) return
    const draw = () => {
      const width = parent.clientWidth
      const ratio = devicePixelRatio
      element.width = width * ratio
      element.height = height * partitions.length * ratio
      const context = element.getContext('2d')
      if (!context) return
      context.scale(ratio, ratio)
      const xOf = (at: number) => ((at - span.from) / (span.to - span.from)) * width
      partitions.forEach((each, row) => {
        each[measure].forEach((value, column) => {
          if (value === null) return
          const [left, right] = [xOf(times[column]!), xOf(times[column]! + step)]
          context.fillStyle = colorOf(value, top, scheme)
          context.fillRect(left, row * height, Math.max(1, right - left + 0.5), height - 1)
        })
      })
    }
    const observer = new ResizeObserver(draw)
    observer.observe(parent)
    return () => observer.disconnect()
  }, [canvas, scheme, partitions, measure, times, step, span, top, height])
}
