import type { MigrationDetail, PartitionTranslation } from '@/api/types'
import { plural } from '@/lib/format'

/** What a translation of one partition rests on, out of its evidence. */
export interface Facts {
  /** The last pair of the mirror: an offset on the old cluster, and the one of the same record on the new one. */
  pair: [number, number] | null
  /** The time of the last record that was read. */
  at: string | null
  timesOf: string | null
  /** Records that were compared on both sides. */
  compared: number | null
  expected: number | null
  lastRead: number | null
  /** `records`, `pairs`, or what there is to say instead. */
  proof: string | null
}

const numberOf = (value: unknown) => (typeof value === 'number' ? value : null)

export function factsOf({ evidence }: Pick<PartitionTranslation, 'evidence'>): Facts {
  const { pair, timestamp, times_of, compared, expected, last_read, proof } = evidence as Record<
    string,
    unknown
  >
  const [old, there] = Array.isArray(pair) ? pair.map(numberOf) : []
  const time = numberOf(timestamp)
  return {
    pair: old != null && there != null ? [old, there] : null,
    at: time === null ? null : new Date(time).toISOString(),
    timesOf: typeof times_of === 'string' ? times_of : null,
    compared: numberOf(compared),
    expected: numberOf(expected),
    lastRead: numberOf(last_read),
    proof: typeof proof === 'string' ? proof : null,
  }
}

/** How many partitions are translated exactly, and how many not yet or not at all. */
export function summary(rows: PartitionTranslation[]): string {
  const blocked = rows.filter(({ code }) => code !== '').length
  const behind = rows.filter(({ code, new: at }) => code === '' && at === null).length
  const exact = rows.filter((row) => row.exact).length
  return [
    `${exact} of ${plural(rows.length, 'partition')} exact`,
    behind > 0 && `${behind} not mirrored yet`,
    blocked > 0 && `${blocked} cannot be translated`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** What a move to another cluster moves; null of any other migration. */
export function moves({ kind, spec }: Pick<MigrationDetail, 'kind' | 'spec'>): 'source' | 'sink' | null {
  if (kind !== 'cluster') return null
  return 'sink' in spec && spec.sink !== null ? 'sink' : 'source'
}
