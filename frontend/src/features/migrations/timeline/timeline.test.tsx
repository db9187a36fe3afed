import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { MigrationTimeline, Timeline } from '@/api/types'
import { migration, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { aroundPause, beforeAndAfter, clipped, runsOf, ticks, wholeOf } from './scale'
import { TimelinePanel } from './TimelinePanel'
import { entriesOf, gateWords, lanesOf, pauseWords, summary } from './words'

const START = Date.parse('2026-03-01T12:00:00Z')
const at = (seconds: number) => new Date(START + seconds * 1_000).toISOString()
const span = (since: number, until: number | null) => ({
  since: at(since),
  until: until === null ? null : at(until),
})

const pause = (since: number, until: number | null, more: Partial<Timeline['pauses'][number]> = {}) => ({
  ...span(since, until),
  way: 'migration' as const,
  seconds: until === null ? null : until - since,
  measured: true,
  ...more,
})

const OLD = {
  side: 'old',
  run: 4,
  revision: 3,
  host: 'alpha',
  started_at: at(-900),
  ended_at: at(24),
} as const
const NEW = { side: 'new', run: 5, revision: 4, host: 'beta', started_at: at(1), ended_at: null } as const

function timeline(fields: Partial<Timeline> = {}): Timeline {
  return {
    since: at(-40),
    until: at(120),
    stages: [
      { stage: 'PREFLIGHT', ...span(0, 20), seconds: 20 },
      { stage: 'PAUSING', ...span(20, 22), seconds: 2 },
      { stage: 'VERIFYING', ...span(27, 87), seconds: 60 },
    ],
    gates: [{ stage: 'APPLYING', ...span(22, 23), by: 'ben' }],
    pauses: [pause(20.5, 27)],
    bars: [
      { ...OLD, delivering: [span(-890, 20.5)] },
      { ...NEW, delivering: [span(27, null)] },
    ],
    ...fields,
  }
}

const point = (seconds: number, rate: number, lag: number | null = null) => ({
  ...{ at: at(seconds), records_per_second: rate, lag_records: lag },
})
const POINTS = [point(-10, 4_000, 100), point(0, 5_000, 100), point(24, 0, 9_000), point(40, 6_000, 500)]
const EMPTY = timeline({ stages: [], gates: [], pauses: [], bars: [] })

function answers(found: MigrationTimeline) {
  const shown = migration({ stage: 'COMMITTED', open: false, started_at: at(0), ended_at: at(87) })
  given.get('/session', () => session())
  given.get(`/migrations/${shown.id}/timeline`, () => found)
  return showRouted(<TimelinePanel migration={shown} />)
}

describe('the panel', () => {
  it('shows both agents, the length of the pause and the figures before and after it', async () => {
    answers({ timeline: timeline(), points: POINTS })
    const chart = await screen.findByRole('img', { name: /^Old agent: run 4, revision 3, alpha, delivers\./ })
    expect(chart).toHaveAccessibleName(/Pause 6\.5 s\. The table lists every part\.$/)
    expect(within(chart).getByText('Pause 6.5 s')).toBeInTheDocument()
    expect(chart).toHaveTextContent('Rate: 4,500 before the pause, 6,000 after it, at most 6,000 records/s')
    expect(chart).toHaveTextContent('Lag: 100 before the pause, 500 after it, at most 9,000 records')
    expect(chart).toHaveTextContent('Before the old run ends: passed by ben')
  })

  it('has the same as a table', async () => {
    const { router } = answers({ timeline: timeline(), points: POINTS })
    await userEvent.click(await screen.findByRole('radio', { name: 'Table' }))
    const table = await screen.findByRole('table', { name: 'Timeline' })
    expect(
      within(table).getByRole('row', { name: /^Pause .* 6\.5 s Measured between two/ }),
    ).toBeInTheDocument()
    expect(within(table).getByRole('row', { name: /^New agent delivers .*not over/ })).toBeInTheDocument()
    expect(within(screen.getByRole('table', { name: 'Rate and lag' })).getAllByRole('row')).toHaveLength(5)
    expect(router.state.location.searchStr).toBe('?timeline=table')
  })

  it('comes closer to the pause', async () => {
    const { router } = answers({ timeline: timeline(), points: [] })
    await userEvent.click(await screen.findByRole('radio', { name: 'Pause' }))
    await screen.findByText('12:00:15', { exact: false })
    expect(router.state.location.searchStr).toBe('?range=pause')
  })

  it('says where no series is kept, and offers no pause where there is none', async () => {
    answers({ timeline: EMPTY, points: [] })
    const chart = await screen.findByRole('img', { name: 'No pause. The table lists every part.' })
    expect(chart).toHaveTextContent('Rate: no data kept of this time')
    expect(screen.queryByRole('radio', { name: 'Pause' })).toBeNull()
    expect(screen.queryByText('Gates')).toBeNull()
  })

  it('asks for nothing before the migration has started', () => {
    showRouted(<TimelinePanel migration={migration()} />)
    expect(screen.queryByRole('heading', { name: 'Timeline' })).toBeNull()
  })
})

describe('the scale', () => {
  const whole = wholeOf(timeline())

  it('cuts what begins before and ends after what is shown', () => {
    expect(clipped(span(-890, 40), whole)).toEqual({ left: 0, width: 50 })
    expect(clipped(span(80, null), whole)).toEqual({ left: 75, width: 25 })
    expect(clipped(span(-890, -100), whole)).toBeNull()
    expect(clipped(span(500, null), whole)).toBeNull()
  })

  it('shows a short pause with five seconds around it, and one that is not over to the end', () => {
    expect(aroundPause(whole, pause(20, 21))).toEqual({ from: START + 15_000, to: START + 26_000 })
    expect(aroundPause(whole, pause(100, null)).to).toBe(whole.to)
  })

  it.each([1_000, 33_000, 160_000, 3_600_000, 86_400_000])('has few round ticks in %i ms', (length) => {
    const found = ticks({ from: START + 300, to: START + 300 + length })
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThanOrEqual(6)
    expect(found.every((tick) => tick % 1_000 === 0)).toBe(true)
  })

  it('leaves gaps where nothing is known, however far apart points usually are', () => {
    const seconds = [0, 2, 4, 60, 62].map((each) => point(each, 1))
    expect(runsOf(seconds, 'records_per_second').map((run) => run.length)).toEqual([3, 2])
    const minutes = [0, 60, 120, 600].map((each) => point(each, 1))
    expect(runsOf(minutes, 'records_per_second').map((run) => run.length)).toEqual([3, 1])
    expect(runsOf(seconds, 'lag_records')).toEqual([])
  })

  it('knows nothing of after while the pause is not over', () => {
    expect(beforeAndAfter(POINTS, [pause(20, null)], 'lag_records')).toEqual({ before: 100, after: null })
    expect(beforeAndAfter(POINTS, [], 'lag_records')).toEqual({ before: null, after: null })
  })
})

describe('the words', () => {
  it('name a pause by its way, and say what is not measured or not over', () => {
    expect(pauseWords(pause(0, null))).toBe('Pause, not over')
    expect(pauseWords(pause(0, 21, { measured: false }))).toBe('Pause, between steps 21 s')
    expect(pauseWords(pause(0, 18.5, { way: 'rollback' }))).toBe('Rollback pause 19 s')
  })

  it('name who passed a gate, and that one waits', () => {
    const gate = { stage: 'COMMITTED' as const, ...span(87, 95), by: 'ana' }
    expect(gateWords(gate)).toBe('Before the commit: passed by ana')
    expect(gateWords({ ...gate, by: '', until: null })).toBe('Before the commit: awaiting approval')
    expect(gateWords({ ...gate, by: '' })).toBe('Before the commit: not passed')
  })

  it('put the runs of a side into one lane', () => {
    const heir = { ...OLD, run: 6, started_at: at(66), ended_at: null, delivering: [span(79, null)] }
    const lanes = lanesOf([...timeline().bars, heir])
    expect(lanes.map(({ label }) => label)).toEqual([
      'Old agent: runs 4, 6, revision 3, alpha',
      'New agent: run 5, revision 4, beta',
    ])
    expect(lanesOf([{ ...NEW, delivering: [] }])).toHaveLength(1)
    expect(summary(timeline({ bars: [{ ...NEW, delivering: [] }] }))).toMatch(
      /^New agent: .*, delivers nothing\./,
    )
  })

  it('list everything in the order of time', () => {
    const times = entriesOf(timeline()).map(({ since }) => Date.parse(since))
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    expect(times).toHaveLength(7)
  })
})
