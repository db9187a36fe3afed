import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { sessionQuery } from '@/api/session'
import { teamsQuery } from '@/api/teams'
import type { Team } from '@/api/types'
import { DEFAULT_TEAM, INSTALLATION } from '@/domain/owners'
import { reaches, type Role } from '@/domain/roles'

/** Why what depends on the teams has to wait. */
export const READING = 'The teams are being read.'

/** No team, in the field. */
const NONE = ''

export interface TeamChoice {
  /** The teams as they are read. */
  query: UseQueryResult<Team[]>
  /** What is sent; null: what the server takes without a team. */
  team: string | null
  /** The value of the field, and what it offers. */
  value: string
  options: { value: string; label: string }[]
  /** Whether the user has a choice. */
  offered: boolean
  /** What has to be chosen first; null where nothing has. */
  missing: string | null
  choose: (value: string) => void
}

interface Asked {
  /** What no team stands for; null where there has to be one. */
  none: string | null
  /** Taken among several teams, unless the user chooses. */
  preferred: string | null
}

/** The team of something new, where the server takes it from users with a role: what it takes by itself, until the user chooses. */
function useChoice(role: Role, { none, preferred }: Asked): TeamChoice {
  const query = useQuery(teamsQuery)
  const teams = query.data ?? []
  const everywhere = useQuery(sessionQuery).data?.everywhere ?? null
  const [chosen, setChosen] = useState<string | null>(null)
  const names = teams.filter((team) => reaches(team.role, role)).map(({ name }) => name)
  const only = names.length === 1 ? names[0] : names.find((name) => name === preferred)
  const value = chosen ?? (none === null ? only : undefined) ?? NONE
  const label = none ?? (only === undefined ? 'Choose a team' : null)
  const options = names.map((name) => ({ value: name, label: name }))
  if (label !== null) options.unshift({ value: NONE, label })
  return {
    query,
    team: value || null,
    value,
    options,
    offered: options.length > 1 && (names.length > 1 || everywhere !== null),
    missing:
      notRead(query) ??
      (none === null && value === NONE && names.length > 1 ? 'Choose the team first.' : null),
    choose: setChosen,
  }
}

function notRead({ data, error }: UseQueryResult<Team[]>): string | null {
  if (data) return null
  return error ? 'The teams could not be read.' : READING
}

/** Who owns what operators or administrators make beside pipelines: with the role in all teams, the installation unless a
 * team is chosen. */
export function useOwnerChoice(role: Role, preferred: string | null = null): TeamChoice {
  const everywhere = useQuery(sessionQuery).data?.everywhere ?? null
  return useChoice(role, { none: reaches(everywhere, role) ? INSTALLATION : null, preferred })
}

/** Who owns a new pipeline. */
export const usePipelineTeam = () => useChoice('operator', { none: null, preferred: DEFAULT_TEAM })

/** Where a new token is good. */
export const useTokenTeam = () => useChoice('viewer', { none: 'All your teams', preferred: null })

/** Whether the user sees what several teams own. */
export function useSeveralTeams(): boolean {
  return (useQuery(teamsQuery).data ?? []).length > 1
}
