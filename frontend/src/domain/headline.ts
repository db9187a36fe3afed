import type { Condition, Pipeline } from '@/api/types'
import { count, plural, rate } from '@/lib/format'
import vocabulary from './vocabulary.json'

/** What the agent's own figures add to the headline; `lastReport` is set when they are old. */
export function movement({ phase, live }: Pipeline, lastReport: string | null): string | null {
  if (lastReport !== null) return `Last report at ${lastReport}.`
  switch (phase) {
    case 'RUNNING':
      return live.records_per_second ? `${rate(live.records_per_second)} records/s.` : 'No records arriving.'
    case 'PAUSED':
      return `${count(live.in_flight)} in flight.`
    case 'PAUSING':
    case 'STOPPING':
      return `${plural(live.in_flight, 'batch', 'batches')} in flight.`
    default:
      return null
  }
}

export function conditionLabel({ type, status }: Condition): string {
  const labels: Record<string, Record<Condition['status'], string>> = vocabulary.conditions
  return labels[type]?.[status] ?? `${type}: ${status}`
}
