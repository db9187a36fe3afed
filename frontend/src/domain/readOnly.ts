import type { ChangeKind, Session } from '@/api/types'
import vocabulary from './vocabulary.json'

/** What an installation that is read-only allows of governed changes. */
const EMERGENCY: string[] = vocabulary.whileReadOnly

/** Why users can start, change and publish nothing now; null where they can. */
export function frozen(session: Session | undefined): string | null {
  const mode = session?.read_only
  return mode ? `The installation is read-only, set by ${mode.set_by}: ${mode.reason}` : null
}

/** The same for a governed change. */
export const frozenFor = (kind: ChangeKind, session: Session | undefined): string | null =>
  EMERGENCY.includes(kind) ? null : frozen(session)
