import { useQuery } from '@tanstack/react-query'
import { pipelinesQuery } from '@/api/pipelines'
import { sessionQuery } from '@/api/session'
import { teamsQuery } from '@/api/teams'
import { cannotAdminister, cannotWrite, reaches, ROLE_WORDS } from '@/domain/roles'
import { useFrozen } from '@/lib/session'
import { READING } from './useTeamChoice'

const RANKED = { operator: cannotWrite, admin: cannotAdminister } as const
type Needed = keyof typeof RANKED

/** Tells of each team, and of the installation (null), why the user may not change what it owns now; null where they may. */
export function useRefusal(needed: Needed = 'operator'): (owner: string | null) => string | null {
  const rights = useRights(needed)
  const frozen = useFrozen()
  return (owner) => rights(owner) ?? frozen
}

/** The same for what an installation that is read-only allows. The role in the team counts, which may be lower than the highest
 * one of the session. Where the teams cannot be read, the server decides. */
export function useRights(needed: Needed = 'operator'): (owner: string | null) => string | null {
  const { data: session } = useQuery(sessionQuery)
  const differs = session !== undefined && session.role !== session.everywhere
  const teams = useQuery({ ...teamsQuery, enabled: differs })
  return (owner) => {
    const nowhere = RANKED[needed](session)
    if (nowhere !== null || !session || reaches(session.everywhere, needed)) return nowhere
    if (owner === null) return 'The installation owns this: only a role in all teams can change it.'
    if (teams.isLoading) return READING
    const role = teams.data?.find(({ name }) => name === owner)?.role
    if (!role || reaches(role, needed)) return null
    return needed === 'admin'
      ? `Only administrators of the team ${owner} can do this.`
      : `Your role in the team ${owner} is ${ROLE_WORDS[role]}: you can read what it owns and change nothing.`
  }
}

/** Why the user may not change a pipeline and what is about it now; null where they may. Without a name, why not any pipeline. */
export function useReadOnly(name: string | null): string | null {
  const rights = useNoRights(name)
  const frozen = useFrozen()
  return rights ?? frozen
}

/** The same for what an installation that is read-only allows. */
export function useNoRights(name: string | null): string | null {
  const rights = useRights()
  const { data: session } = useQuery(sessionQuery)
  const asked = name !== null && session !== undefined && session.role !== session.everywhere
  const { data: pipelines } = useQuery({ ...pipelinesQuery, enabled: asked })
  const team = pipelines?.find((each) => each.name === name)?.team
  return team && asked ? rights(team) : cannotWrite(session)
}
