import { duration } from '@/lib/format'

/** When a failed sink of a group is tried again. */
export function nextAttempt(until: string, now: number): string {
  const left = Date.parse(until) - now
  return left > 0 ? `next attempt in ${duration(left)}` : 'next attempt with the next batch'
}

/** What the active sink of a group is: one that balances its load has no active sink, but one that was last. */
export function activeWords(processor: string): string {
  return processor === 'load_balance' ? 'took the last batch' : 'active'
}
