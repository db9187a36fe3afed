import { pipeline, T0 } from '@/testing/factories'
import { freshness } from './freshness'

const aged = (rate: number, seconds: number) =>
  freshness(
    pipeline({ live: { ...pipeline().live, as_of: T0, records_per_second: rate } }),
    Date.parse(T0) + seconds * 1_000,
  ).stale

it.each([
  [957, 4, false],
  [957, 6, true],
  [0, 6, false],
  [0, 14, false],
  [0, 16, true],
])('figures at %d records/s that are %d s old are stale: %s', (rate, seconds, stale) => {
  expect(aged(rate, seconds)).toBe(stale)
})
