import type { MigrationAction, MigrationChoice, MigrationDetail } from '@/api/types'
import { duration, plural } from '@/lib/format'

/** The choice as the server offers it; undefined where it means nothing at this stage. */
export function choiceOf(
  { choices }: Pick<MigrationDetail, 'choices'>,
  action: MigrationAction,
): MigrationChoice | undefined {
  return choices.find(({ choice }) => choice === action)
}

/** Why a choice cannot be made; null when it can. The server decides, the page only repeats. */
export function refusalOf(
  migration: Pick<MigrationDetail, 'choices'>,
  action: MigrationAction,
): string | null {
  const found = choiceOf(migration, action)
  if (found?.allowed) return null
  return found?.reason || 'This action is not available at this stage.'
}

type Impact = NonNullable<MigrationChoice['impact']>

/** The expected impact of a choice, in figures and words; only in words where the server promises no figures. */
export function describeImpact({ exact, skip, replay, duplicates_max, pause, words }: Impact): string {
  const figures = [
    pause > 0 && `pause of about ${duration(pause * 1_000)}`,
    skip > 0 && `${plural(skip, 'record')} skipped`,
    replay > 0 && `${plural(replay, 'record')} reread`,
    duplicates_max > 0 && `at most ${plural(duplicates_max, 'possible duplicate')}`,
  ].filter(Boolean)
  if (figures.length > 0) return `Expected impact: ${figures.join(', ')}. ${words}`
  return exact ? `Expected impact: none. ${words}` : words
}
