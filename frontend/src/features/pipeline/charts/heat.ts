import type { components } from '@/api/schema'
import type { Values } from './columns'

export type PartitionCharts = components['schemas']['PartitionCharts']
export type PartitionColumns = components['schemas']['PartitionColumns']
export type Measure = 'records' | 'seconds'

export type Scheme = 'light' | 'dark'

/** One hue, whose lightness alone tells much from little: the same to everybody who sees. What waits stands out. */
const STOPS: Record<Scheme, string[]> = {
  light: ['#dcecf2', '#a9d3e0', '#63acc4', '#2a7fa0', '#0f5676', '#07304a'],
  dark: ['#1b3a46', '#1f5567', '#2a7489', '#4aa3b8', '#8cd3df', '#dff6fa'],
}
/** Nothing waits. */
const ZERO: Record<Scheme, string> = { light: '#f3f5f6', dark: '#1d242b' }

const channels = (hex: string) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16))

/** The colour of a value on a scale up to the most. */
export function colorOf(value: number, top: number, scheme: Scheme): string {
  if (value <= 0) return ZERO[scheme]
  const colors = STOPS[scheme]
  const at = Math.min(1, shareOf(value, top)) * (colors.length - 1)
  const below = Math.min(colors.length - 2, Math.floor(at))
  const [low, high] = [channels(colors[below]!), channels(colors[below + 1]!)]
  const mixed = low.map((from, index) => Math.round(from + (high[index]! - from) * (at - below)))
  return `rgb(${mixed.join(' ')})`
}

/** Where a value lies on a logarithmic scale from 0 to the most; 0 is 0. */
export function shareOf(value: number, top: number): number {
  return top <= 0 ? 0 : Math.log1p(value) / Math.log1p(top)
}

/** The largest value of all, 0 without any. */
export function topOf(partitions: PartitionColumns[], measure: Measure): number {
  return partitions.reduce((top, each) => Math.max(top, mostOf(each[measure]) ?? 0), 0)
}

export function mostOf(values: Values): number | null {
  return values.reduce<number | null>(
    (top, value) => (value === null ? top : Math.max(top ?? value, value)),
    null,
  )
}

/** Powers of ten for the legend, from 0 to the most. */
export function legendOf(top: number): number[] {
  const found = [0]
  for (let tick = 1; tick < top; tick *= 10) found.push(tick)
  const most = top > 0 ? [...found, top] : found
  return most.length <= 5 ? most : most.filter((_, at) => at === 0 || (most.length - 1 - at) % 2 === 0)
}

export const nameOf = ({ topic, partition }: PartitionColumns) => `${topic}/${partition}`

export const channelOf = ({ source, channel }: PartitionColumns) =>
  [source, channel].filter(Boolean).join(' to ')

/** How high a row is: many partitions stay on one screen, or nearly. */
export function rowHeight(rows: number): number {
  return rows <= 24 ? 18 : rows <= 64 ? 12 : 8
}

export type Order = 'name' | 'lag'

/** The rows by name, or those with the most lag first. */
export function ordered(partitions: PartitionColumns[], order: Order, measure: Measure): PartitionColumns[] {
  if (order === 'name') return partitions
  return partitions.toSorted((one, other) => (mostOf(other[measure]) ?? -1) - (mostOf(one[measure]) ?? -1))
}

export interface Cell {
  row: number
  column: number
}

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
}

/** The cell that a key leads to; null where it leads nowhere. */
export function cellAfter(key: string, { row, column }: Cell, rows: number, columns: number): Cell | null {
  const step = STEPS[key]
  if (!step || rows === 0 || columns === 0) return null
  const within = (value: number, size: number) => Math.min(size - 1, Math.max(0, value))
  return { row: within(row + step[0], rows), column: within(column + step[1], columns) }
}
