import { screen, within } from '@testing-library/react'
import { run } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { RunBars } from './RunBars'
import { gapsOf, spansOf, spanWords } from './spans'

const at = (second: number) => new Date(Date.parse('2026-11-21T12:00:00Z') + second * 1_000).toISOString()
const NOW = Date.parse(at(1_000))
const ENDED = { state: 'ENDED', outcome: 'CLEAN', ended_at: at(100) } as const
const kinds = (fields: Parameters<typeof run>[0]) =>
  spansOf(run({ start_requested_at: at(0), started_at: at(1), first_record_at: at(10), ...fields }), NOW).map(
    ({ kind, from, to }) => [kind, (to - from) / 1_000],
  )

describe('the phases of a run', () => {
  it('follow each other without a gap, up to its end or to now', () => {
    expect(kinds({ ...ENDED, stop_requested_at: at(95) })).toEqual([
      ['starting', 10],
      ['running', 85],
      ['stopping', 5],
    ])
    expect(kinds({})).toEqual([
      ['starting', 10],
      ['running', 990],
    ])
  })

  it('end where the run ended, whatever was recorded later or never', () => {
    expect(kinds({ ...ENDED, first_record_at: null })).toEqual([['starting', 100]])
    expect(kinds({ ...ENDED, first_record_at: null, stop_requested_at: at(4) })).toEqual([
      ['starting', 4],
      ['stopping', 96],
    ])
    expect(kinds({ ...ENDED, first_record_at: at(200), stop_requested_at: at(300) })).toEqual([
      ['starting', 100],
    ])
    expect(kinds({ ...ENDED, ended_at: at(0) })).toEqual([])
  })

  it('begin with the time as a standby', () => {
    expect(kinds({ role: 'STANDBY', first_record_at: null, epoch: null })).toEqual([['standby', 1_000]])
    expect(kinds({ promoted_at: at(400), first_record_at: at(402) })).toEqual([
      ['standby', 400],
      ['starting', 2],
      ['running', 598],
    ])
  })

  it('are said in words', () => {
    const found = spansOf(run({ ...ENDED, start_requested_at: at(0), first_record_at: at(2) }), NOW)
    expect(spanWords(found)).toBe('2.0 s starting, 1 min 38 s running')
  })
})

describe('run numbers that are missing', () => {
  const runs = (...numbers: number[]) => numbers.map((number) => run({ id: number, number, epoch: number }))
  const gaps = (whole: boolean, ...found: ReturnType<typeof runs>) => [...gapsOf(found, whole)]

  it('are none where every run has the number after the one before', () => {
    expect(gaps(true, ...runs(3, 2, 1))).toEqual([])
    expect(gaps(false, ...runs(9, 8))).toEqual([])
  })

  it('are explained where they are missing', () => {
    const promoted = run({ id: 5, number: 5, epoch: 6, promoted_at: at(1) })
    expect(gaps(true, ...runs(7), promoted, ...runs(4, 3))).toEqual([
      [7, 'Number 6 is the epoch that run 5 got when it was promoted.'],
      [
        3,
        'Numbers 1 to 2 are of an earlier pipeline of this name, or of directories that it left on the host.',
      ],
    ])
    expect(gaps(false, ...runs(12, 8))).toEqual([
      [12, 'Numbers 9 to 11 are not in the database: promotions or directories on the host took them.'],
    ])
  })
})

it('every bar has its run, its phases and its cause in words', async () => {
  const ends = {
    state: 'ENDED',
    outcome: 'CRASHED',
    ended_at: at(50),
    exit_reason: 'Out of memory.',
  } as const
  const times = { start_requested_at: at(0), first_record_at: at(20) }
  showRouted(<RunBars name="orders" runs={[run({ ...times, ...ends, id: 8, number: 4 })]} />)
  const bars = await screen.findByRole('list', { name: 'Runs over time' })
  const item = within(bars).getByRole('listitem')
  expect(item).toHaveTextContent('Crashed')
  expect(item).toHaveTextContent('20 s starting, 30 s running')
  expect(item).toHaveTextContent('Out of memory.')
  expect(within(item).getByRole('link', { name: 'Run 4' })).toHaveAttribute(
    'href',
    '/pipelines/orders/log?run=8',
  )
})
