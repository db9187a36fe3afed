import type { Lag } from '@/api/types'
import { keyOf, lineOf } from './PartitionLag'

const partition = (number: number, records: number | null) => ({
  source: 'shop',
  channel: 'main',
  topic: 'orders',
  partition: number,
  position: 1,
  end: 2,
  records,
  seconds: null,
})

it('draws one partition over time, with a hole where it was not looked at', () => {
  const lag: Lag = {
    as_of: null,
    records: 7,
    seconds: null,
    step: 60,
    partitions: [partition(0, 5), partition(1, 2)],
    points: [
      {
        at: '2026-11-21T12:00:00Z',
        records: 9,
        seconds: null,
        partitions: [partition(0, 8), partition(1, 1)],
      },
      { at: '2026-11-21T12:01:00Z', records: 2, seconds: null, partitions: [partition(1, 2)] },
    ],
  }
  const shown = keyOf(partition(0, null))
  expect(lineOf(lag, shown, 'records')).toEqual([8, null])
  expect(lineOf(lag, shown, 'seconds')).toEqual([null, null])
})
