import type { Migration } from '@/api/types'

/** Migrations that require action to continue, the most urgent first. */
export function waitingForPeople(migrations: Migration[]): Migration[] {
  return migrations
    .filter((migration) => whyWaiting(migration) !== null)
    .toSorted((a, b) => rank(a) - rank(b) || Date.parse(a.stage_since) - Date.parse(b.stage_since))
}

/** What a migration waits for; null where it continues by itself, or is blocked by what requires no action here. */
export function whyWaiting({ stage, waits_for, message }: Migration): string | null {
  if (stage === 'NEEDS_ATTENTION') return message
  if (waits_for !== null) return 'Awaiting approval at a gate.'
  if (stage === 'PLANNED') return 'Awaiting approval.'
  return stage === 'APPROVED' ? 'Ready to start.' : null
}

/** What delays a pipeline comes before what has not started. */
function rank({ stage, waits_for }: Migration): number {
  if (stage === 'NEEDS_ATTENTION') return 0
  return waits_for !== null ? 1 : 2
}
