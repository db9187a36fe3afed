import type { Secret, Session, Team } from '@/api/types'
import { cannotAdministerAll, cannotWriteSecrets } from '@/domain/roles'
import { frozen } from '@/domain/readOnly'

/** Why the user may not change a secret; null where it is of a team that they administer, or they administer all. */
export function cannotChange(
  { team }: Pick<Secret, 'team'>,
  teams: Pick<Team, 'name' | 'role'>[],
  session: Session | undefined,
): string | null {
  const role = teams.find(({ name }) => name === team)?.role
  if (team === null) return cannotWriteSecrets(session) ?? cannotAdministerAll(session) ?? frozen(session)
  return role === 'admin' || session?.everywhere === 'admin'
    ? frozen(session)
    : `Only administrators of ${team} can do this.`
}
