import type { QuarantineRequest, Suspect } from '@/api/types'
import { count } from '@/lib/format'

export type Range = QuarantineRequest['ranges'][number]

/** The records [start, end) as a user names them: by the first and the last offset. */
export function offsetsOf({ start, end }: Pick<Range, 'start' | 'end'>): string {
  return end - start === 1 ? count(start) : `${count(start)} to ${count(end - 1)}`
}

/** Why no record can be quarantined yet; null once it is known which there are. */
export function notLocated({ data, error }: { data?: unknown; error: unknown }): string | null {
  if (data) return null
  return error ? 'The records could not be located.' : 'The records are still being located.'
}

export function suspectInWords(suspect: Suspect): string {
  const { topic, partition, start, end } = suspect
  return `${topic}/${partition} ${end - start === 1 ? 'offset' : 'offsets'} ${offsetsOf(suspect)}`
}

export function keyOf({ source, channel, topic, partition, start, end }: Range): string {
  return [source, channel, topic, partition, start, end].join(' ')
}

/** Only what a request carries. */
export function plain({ source, channel, topic, partition, start, end }: Range): Range {
  return { source, channel, topic, partition, start, end }
}

const WRITTEN = /^(.+)\.([^.:]+):(.+)\/(\d+):(\d+)(?:-(\d+))?$/

/** Reads SOURCE.CHANNEL:TOPIC/PARTITION:FROM-TO, the last offset included; null for anything else. */
export function parseRange(text: string): Range | null {
  const found = WRITTEN.exec(text.trim())
  if (!found) return null
  const [, source = '', channel = '', topic = '', partition, start, last] = found
  const range = { source, channel, topic, partition: Number(partition), start: Number(start) }
  const end = Number(last ?? start) + 1
  return end > range.start ? { ...range, end } : null
}
