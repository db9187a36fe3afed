import type { Charts } from '@/api/types'
import { Crosshair } from './crosshair'
import { csvOf, isEmpty, reasonOf, specsOf, stacked, stepped, windowAt } from './columns'
import { lastKnown } from './ChartFigure'
import {
  cellAfter,
  colorOf,
  legendOf,
  ordered,
  rowHeight,
  shareOf,
  topOf,
  type PartitionColumns,
} from './heat'
import { clusters, toneOf, wordsBetween, wordsOf, type Mark } from './marks'
import { toggled } from './PartitionHeat'
import { isLive, moved, pollOf, queryOf, ranged, readRange, spanOf, zoomed } from './range'
import { readChartSearch } from './search'

const NOON = Date.parse('2026-01-01T12:00:00Z')
const nothing: Charts = {
  since: '2026-01-01T11:00:00Z',
  until: '2026-01-01T12:00:00Z',
  step: 1_800,
  at: ['2026-01-01T11:00:00Z', '2026-01-01T11:30:00Z'],
  read_per_second: [null, null],
  delivered_per_second: [null, null],
  lag_records: [null, null],
  lag_seconds: [null, null],
  batches: [null, null],
  batch_seconds: {},
  restarts: [null, null],
  marks: [],
  marks_left_out: false,
  created_at: '2025-01-01T00:00:00Z',
  ran: false,
  lag_kept_since: '2025-10-01T00:00:00Z',
  events_kept_since: '2025-10-01T00:00:00Z',
}

describe('a range', () => {
  it('is read from the address, and what cannot be one is left out', () => {
    expect(readRange({ last: '7d' })).toEqual({ last: '7d' })
    expect(readRange({ last: '8d', from: 'x', to: 'y' })).toEqual({ last: undefined })
    expect(readRange({ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' })).toEqual({
      last: undefined,
    })
    const own = readRange({ last: '1h', from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' })
    expect(own).toEqual({ last: '1h', from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' })
    expect(queryOf(own)).toEqual({ since: own.from, until: own.to })
    expect([isLive(own), isLive({})]).toEqual([false, true])
  })

  it('is an hour up to now, unless the address says otherwise', () => {
    expect(queryOf({})).toEqual({ since: '1h' })
    expect(spanOf({ last: '15m' }, NOON)).toEqual({ from: NOON / 1_000 - 900, to: NOON / 1_000 })
  })

  it('is read again only where it ends now, and as often as it has points', () => {
    expect(pollOf({}, 10)).toBe(10_000)
    expect(pollOf({}, undefined)).toBe(5_000)
    expect(pollOf({}, 7_200)).toBe(300_000)
    expect(pollOf({ from: 'a', to: 'b' }, 10)).toBe(false)
  })

  it('zooms around the crosshair and moves by a share of itself', () => {
    expect(zoomed({ from: 100, to: 200 }, 0.5, 150)).toEqual({ from: 125, to: 175 })
    expect(zoomed({ from: 100, to: 200 }, 2, 100)).toEqual({ from: 100, to: 300 })
    expect(moved({ from: 100, to: 200 }, -0.5)).toEqual({ from: 50, to: 150 })
  })

  it('becomes no shorter and no longer than the API answers, and does not end in the future', () => {
    const now = NOON / 1_000
    const short = ranged({ last: '6h' }, { from: now - 100, to: now - 99 }, NOON)
    expect([Date.parse(short.to!) - Date.parse(short.from!), short.last]).toEqual([60_000, '6h'])
    const long = ranged({}, { from: now - 500 * 86_400, to: now + 500 * 86_400 }, NOON)
    expect(Date.parse(long.to!)).toBe(NOON)
    expect(Date.parse(long.to!) - Date.parse(long.from!)).toBe(90 * 86_400_000)
  })

  it('stands in the address with the tables that are shown', () => {
    expect(readChartSearch({ last: '6h', tables: ['lag', 'x'], heat: 'seconds', order: 'x' })).toEqual({
      last: '6h',
      tables: ['lag'],
      heat: 'seconds',
      order: undefined,
    })
    expect(toggled(['lag'], 'heat', true)).toEqual(['lag', 'heat'])
    expect(toggled(['lag'], 'lag', false)).toBeUndefined()
  })
})

describe('what is drawn', () => {
  it('has each value over its whole window, and gaps as long as they were', () => {
    const [times, values] = stepped([0, 1_000], 1_000, [[5, null]])
    expect(times).toEqual([0, 999, 1_000, 1_999])
    expect(values).toEqual([5, 5, null, null])
  })

  it('puts steps on top of one another, and nothing where nothing is known', () => {
    const sums = stacked([
      [1, null],
      [2, null],
      [3, null],
    ])
    expect(sums).toEqual([
      [1, null],
      [3, null],
      [6, null],
    ])
  })

  it('finds the window of a time', () => {
    expect([0, 9, 10, 19, 20, -1].map((at) => windowAt([0, 10], 10, at))).toEqual([0, 0, 1, 1, null, null])
    expect(windowAt([], 10, 5)).toBeNull()
    expect(windowAt([0], 10, null)).toBeNull()
  })

  it('shows the newest value that is known where there is no crosshair', () => {
    const [rate] = specsOf({ ...nothing, read_per_second: [1, null] })
    expect(lastKnown(rate!)).toBe(0)
  })

  it('is downloaded as text, empty where nothing is known', () => {
    const charts = { ...nothing, read_per_second: [1.5, null], batch_seconds: { plan: [0.1, null] } }
    expect(csvOf(charts).split('\n').slice(0, 3)).toEqual([
      'at,read_per_second,delivered_per_second,lag_records,lag_seconds,batches,batch_seconds_plan,restarts',
      '2026-01-01T11:00:00Z,1.5,,,,,0.1,',
      '2026-01-01T11:30:00Z,,,,,,,',
    ])
  })
})

describe('a chart without data', () => {
  const why = (key: Parameters<typeof reasonOf>[0], more: Partial<Charts> = {}) =>
    reasonOf(key, { ...nothing, ...more }, (at) => at.slice(0, 10))

  it('is one where nothing is known: zeros are data', () => {
    expect(specsOf(nothing).every(({ lines }) => isEmpty(lines))).toBe(true)
    expect(isEmpty(specsOf({ ...nothing, restarts: [0, 0] })[4]!.lines)).toBe(false)
  })

  it('says why', () => {
    expect(why('rate')).toBe('No agent ran in this range.')
    expect(why('rate', { created_at: '2026-02-01T00:00:00Z' })).toBe(
      'The pipeline was created later, at 2026-02-01.',
    )
    expect(why('time', { ran: true, batches: [0, 0] })).toBe('No batch was finished in this range.')
    expect(why('time', { ran: true, batches: [0, 3] })).toBe('The time of these batches was not measured.')
    expect(why('lag')).toBe('The lag was not measured in this range.')
    expect(why('age', { lag_kept_since: '2026-02-01T00:00:00Z' })).toBe(
      'Lag from before 2026-02-01 is deleted.',
    )
    expect(why('restarts')).toContain('are deleted')
    expect(why('lag', { at: [] })).toBe('The range has just started.')
  })
})

const mark = (second: number, kind = 'phase.changed', state = 'RUNNING'): Mark => ({
  id: second,
  at: new Date(NOON + second * 1_000).toISOString(),
  kind,
  state,
  message: '',
})
const span = { from: NOON / 1_000, to: NOON / 1_000 + 100 }

describe('events in a lane', () => {
  it('share a button where theirs would touch', () => {
    const found = clusters([mark(50), mark(10), mark(11), mark(12), mark(-5), mark(500)], span, 1_000, 26)
    expect(found.map(({ place, marks }) => [place, marks.length])).toEqual([
      [0.1, 3],
      [0.5, 1],
    ])
  })

  it('never lie closer than a button is wide', () => {
    const many = Array.from({ length: 500 }, (_, index) => mark(index / 5))
    const places = clusters(many, span, 800, 26).map(({ place }) => place * 800)
    places.slice(1).forEach((place, index) => expect(place - places[index]!).toBeGreaterThanOrEqual(26))
    expect(clusters(many, span, 800, 26).flatMap(({ marks }) => marks)).toHaveLength(500)
  })

  it('have words and the tone of the worst', () => {
    expect(wordsOf(mark(1))).toBe('Running')
    expect(wordsOf(mark(1, 'sink.switched', ''))).toBe('Sink switched')
    expect(wordsOf(mark(1, 'migration.pausing', ''))).toBe('Migration: pausing')
    expect(toneOf([mark(1), mark(2, 'phase.changed', 'FAILED')])).toBe('bad')
    expect(wordsBetween([mark(1), mark(20)], span.from, span.from + 10)).toBe('Running')
  })
})

const partition = (number: number, records: (number | null)[]): PartitionColumns => ({
  source: 'shop',
  channel: 'main',
  topic: 'orders',
  partition: number,
  records,
  seconds: records.map(() => null),
})

describe('a heat map', () => {
  it('has a logarithmic scale on which 0 is the least', () => {
    expect([shareOf(0, 1e6), shareOf(1e6, 1e6), shareOf(5, 0)]).toEqual([0, 1, 0])
    expect(shareOf(1_000, 1e6)).toBeCloseTo(0.5, 1)
    expect(colorOf(0, 1e6, 'light')).toBe('#f3f5f6')
    expect(colorOf(1e6, 1e6, 'light')).toBe('rgb(7 48 74)')
    expect(colorOf(2e6, 1e6, 'dark')).toBe('rgb(223 246 250)')
  })

  it('tells much from little by lightness alone', () => {
    const lightness = (value: number, scheme: 'light' | 'dark') =>
      [...colorOf(value, 1e6, scheme).matchAll(/\d+/g)].reduce(
        (sum, [channel], index) => sum + Number(channel) * [0.2126, 0.7152, 0.0722][index]!,
        0,
      )
    const values = [1, 10, 100, 1e3, 1e4, 1e5, 1e6]
    const rising = values.map((value) => lightness(value, 'dark'))
    const falling = values.map((value) => lightness(value, 'light'))
    expect(rising).toEqual(rising.toSorted((a, b) => a - b))
    expect(falling).toEqual(falling.toSorted((a, b) => b - a))
  })

  it('has a legend of powers of ten', () => {
    expect(legendOf(0)).toEqual([0])
    expect(legendOf(250)).toEqual([0, 1, 10, 100, 250])
    expect(legendOf(1e6)).toEqual([0, 1, 100, 10_000, 1_000_000])
  })

  it('shows those with the most lag first where that is asked for', () => {
    const rows = [partition(0, [1, 2]), partition(1, [null, null]), partition(2, [9, 0])]
    expect(ordered(rows, 'lag', 'records').map((each) => each.partition)).toEqual([2, 0, 1])
    expect(ordered(rows, 'name', 'records')).toBe(rows)
    expect(topOf(rows, 'records')).toBe(9)
  })

  it('keeps 256 partitions on a few screens', () => {
    expect(256 * rowHeight(256)).toBeLessThan(2_100)
    expect(rowHeight(3)).toBe(18)
  })

  it('is walked by keys and has edges', () => {
    expect(cellAfter('ArrowRight', { row: 0, column: 4 }, 2, 5)).toEqual({ row: 0, column: 4 })
    expect(cellAfter('ArrowUp', { row: 1, column: 4 }, 2, 5)).toEqual({ row: 0, column: 4 })
    expect(cellAfter('Home', { row: 1, column: 4 }, 2, 5)).toEqual({ row: 1, column: 0 })
    expect(cellAfter('x', { row: 1, column: 4 }, 2, 5)).toBeNull()
    expect(cellAfter('End', { row: 0, column: 0 }, 0, 0)).toBeNull()
  })
})

it('has one crosshair, of which others hear when it moves and not when it stays', () => {
  const crosshair = new Crosshair()
  const heard = vi.fn()
  const leave = crosshair.subscribe(heard)
  crosshair.set(5)
  crosshair.set(5)
  leave()
  crosshair.set(null)
  expect(heard).toHaveBeenCalledTimes(1)
})
