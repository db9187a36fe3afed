import type { RangeReplay, ReplayRange } from '@/api/types'
import { count } from '@/lib/format'

/** A range as it is planned: from the first offset up to, and without, the last one. */
export function rangeInWords({ topic, partition, start, end }: ReplayRange): string {
  return `${topic}/${partition} from ${count(start)} up to ${count(end)}`
}

export function isOpen({ state }: Pick<RangeReplay, 'state'>): boolean {
  return state === 'PENDING' || state === 'RUNNING'
}

interface Progress {
  done: number
  of: number
  delivered: number
  doubtful: number
}

/** The figures of a replay; what the agent has not reported yet is zero. */
export function progressOf({ progress, start, end }: RangeReplay): Progress {
  const figure = (name: string) => Number(progress[name] ?? 0)
  return {
    done: figure('done'),
    of: end - start,
    delivered: figure('delivered'),
    doubtful: figure('possible_duplicates'),
  }
}
