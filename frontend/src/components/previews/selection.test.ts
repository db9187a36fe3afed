import { describe, expect, test } from 'vitest'
import { FIRST, selectionOf } from './selection'

describe('a selection', () => {
  test.each([
    [{ ...FIRST }, { last: 1000, since: null, ranges: [], sample: 1 }],
    [
      { ...FIRST, by: 'since' as const, since: '15m', sample: 0.1 },
      { last: null, since: 900, ranges: [], sample: 0.001 },
    ],
    [
      { ...FIRST, by: 'range' as const, range: 'shop.orders/3:120000-121000' },
      {
        ...{ last: null, since: null, sample: 1 },
        ranges: [{ topic: 'shop.orders', partition: 3, start: 120000, end: 121000 }],
      },
    ],
  ])('%o is sent', (choice, sent) => {
    expect(selectionOf(choice)).toEqual(sent)
  })

  test.each([
    { ...FIRST, last: 0 },
    { ...FIRST, last: 10_001 },
    { ...FIRST, sample: 0 },
    { ...FIRST, by: 'since' as const, since: 'soon' },
    { ...FIRST, by: 'range' as const, range: '' },
    { ...FIRST, by: 'range' as const, range: 'orders/3:9-9' },
    { ...FIRST, by: 'range' as const, range: 'orders/3:1-9 x' },
  ])('%o is explained', (choice) => {
    expect(selectionOf(choice)).toMatch(/^Write /)
  })
})
