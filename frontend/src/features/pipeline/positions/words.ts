import type { PositionMove } from '@/api/types'

const NAMES: Record<string, string> = {
  unread: 'First unread record',
  ledger: 'Headgate ledger',
  checkpoint: 'Spark checkpoint',
  group: 'Committed offsets of the group',
  earliest: 'Log start',
  latest: 'Log end',
}

/** Where a choice resumes, in words; what is no known word stands for itself. */
export function inWords(to: string): string {
  return NAMES[to] ?? to
}

export function partitionOf({
  source,
  channel,
  topic,
  partition,
}: Pick<PositionMove, 'source' | 'channel' | 'topic' | 'partition'>): string {
  return [source, channel, topic, partition].join(' ')
}
