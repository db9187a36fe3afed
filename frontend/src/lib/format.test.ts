import { ago, bytes, catchUp, count, duration, rate } from './format'

describe('numbers', () => {
  it('separates thousands and never shows a missing value as zero', () => {
    expect([count(1_234_567), count(0), count(null), rate(undefined)]).toEqual(['1,234,567', '0', '–', '–'])
  })

  it('keeps a digit for slow rates so that they do not look stopped', () => {
    expect([rate(0.4), rate(9.94), rate(12.6), rate(0)]).toEqual(['0.4', '9.9', '13', '0'])
  })

  it('shows bytes in binary units', () => {
    expect([bytes(0), bytes(1_536), bytes(33_654_000_000)]).toEqual(['0 B', '1.5 KiB', '31.3 GiB'])
  })
})

describe('durations', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [8_340, '8.3 s'],
    [59_600, '1 min'],
    [61_000, '1 min 1 s'],
    [7_440_000, '2 h 4 min'],
    [90_000_000, '1 d 1 h'],
    [86_400_000, '1 d'],
    [-5, '0 ms'],
  ])('shows %d ms as %s', (ms, words) => {
    expect(duration(ms)).toBe(words)
  })

  it('says how long ago in one unit', () => {
    const now = Date.parse('2026-11-21T12:10:00Z')
    expect(ago('2026-11-21T12:09:59.5Z', now)).toBe('just now')
    expect(ago('2026-11-21T12:06:30Z', now)).toBe('3 min ago')
    expect(ago('2026-11-21T12:10:07Z', now)).toBe('just now')
    expect(ago(null, now)).toBe('–')
  })

  it('says nothing about catching up where there is no rate or no lag', () => {
    expect([catchUp(100, 0), catchUp(0, 10), catchUp(null, 10), catchUp(100, null)]).toEqual([
      null,
      null,
      null,
      null,
    ])
    expect([catchUp(5, 10), catchUp(1_200, 10)]).toEqual(['< 1 s', '2 min'])
  })
})
