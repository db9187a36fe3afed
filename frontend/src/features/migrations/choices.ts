import type { MigrationAction, MigrationChoice, MigrationDetail } from '@/api/types'
import { count, duration } from '@/lib/format'
import { snapshotOf } from './evidence'

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
  return found?.reason || 'This is not possible at this stage.'
}

type Price = NonNullable<MigrationChoice['price']>

/** What a choice costs, in figures and words. */
export function priceInWords({ exact, skip, replay, duplicates_max, pause, words }: Price): string {
  const figures = [
    pause > 0 && `a pause of about ${duration(pause * 1_000)}`,
    skip > 0 && `${count(skip)} records skipped`,
    replay > 0 && `${count(replay)} records read again`,
    duplicates_max > 0 && `up to ${count(duplicates_max)} records twice`,
  ].filter(Boolean)
  const cost = figures.length > 0 ? figures.join(', ') : exact ? 'nothing' : 'no records'
  return `It costs ${cost}. ${words}`
}

/** What asks for the opposite of a committed migration; null where nothing that REST knows does. */
export function reverseOf(migration: MigrationDetail) {
  const { kind, pipeline, old_revision, old_host } = migration
  if (kind === 'revision' && old_revision !== null) return { pipeline, kind, revision: old_revision }
  if (kind === 'host' && old_host !== null) return { pipeline, kind, host: old_host }
  if (kind === 'cluster') return { pipeline, kind }
  const positions = kind === 'position' ? snapshotOf(migration)?.positions : undefined
  if (!positions?.length) return null
  const to = positions.map(({ topic, partition, offset }) => `${topic}/${partition}:${offset}`).join(',')
  return { pipeline, kind, to: `offsets=${to}` }
}
