import { useQuery } from '@tanstack/react-query'
import { pipelinesQuery } from '@/api/pipelines'
import { sessionQuery } from '@/api/session'
import { teamsQuery } from '@/api/teams'
import { cannotWrite } from '@/domain/roles'

/** Why the user may not change a pipeline and what is about it; null where they may. The role in the team that owns it counts,
 * which may be lower than the highest one of the session. */
export function useReadOnly(name: string | null): string | null {
  const { data: session } = useQuery(sessionQuery)
  const differs = session !== undefined && session.role !== session.everywhere
  const { data: teams } = useQuery({ ...teamsQuery, enabled: differs })
  const mixed = teams?.some(({ role }) => role !== teams[0]?.role) ?? false
  const { data: pipelines } = useQuery({ ...pipelinesQuery, enabled: mixed && name !== null })
  const team = pipelines?.find((each) => each.name === name)?.team
  if (mixed && teams?.find((each) => each.name === team)?.role === 'viewer')
    return `Your role in the team ${team} is Viewer: you can read what it owns and change nothing.`
  return cannotWrite(session)
}
