import { clockTime, fullTime, instantOf, minuteOf, shortTime } from './time'

describe('times in UTC', () => {
  const at = '2026-11-21T23:04:05Z'

  it('says that they are UTC where the whole time stands', () => {
    expect(clockTime(at, 'utc')).toBe('23:04:05')
    expect(fullTime(at, 'utc')).toBe('2026-11-21 23:04:05 UTC')
  })

  it('adds the date when it was another day', () => {
    expect(shortTime(at, 'utc', Date.parse('2026-11-21T23:59:00Z'))).toBe('23:04:05')
    expect(shortTime(at, 'utc', Date.parse('2026-11-22T00:01:00Z'))).toBe('2026-11-21 23:04:05')
  })

  it('goes into a field for date and time and comes back', () => {
    expect(minuteOf(at, 'utc')).toBe('2026-11-21T23:04')
    expect(instantOf('2026-11-21T23:04', 'utc')).toBe('2026-11-21T23:04:00.000Z')
    expect(instantOf(minuteOf(at, 'local'), 'local')).toBe('2026-11-21T23:04:00.000Z')
    expect(instantOf('', 'utc')).toBeUndefined()
  })
})
