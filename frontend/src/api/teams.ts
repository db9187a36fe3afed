import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import { randomKey } from '@/lib/ids'
import type { BindingRequest, TeamRequest } from './types'

/** In place of a team's name: every team. */
export const ALL_TEAMS = 'all'

/** The teams of the user, with the user's role in each. */
export const teamsQuery = queryOptions({
  queryKey: keys.teams,
  queryFn: ({ signal }) =>
    fetchAll((cursor) =>
      take(api.GET('/api/v1/teams', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const createTeam = (body: TeamRequest) =>
  take(api.POST('/api/v1/teams', { params: { header: { 'Idempotency-Key': randomKey() } }, body }))

export const deleteTeam = (team: string) =>
  take(api.DELETE('/api/v1/teams/{team}', { params: { path: { team } } }))

/** Who has which role in a team, or in all of them. */
export const bindingsQuery = (team: string) =>
  queryOptions({
    queryKey: keys.bindings(team),
    queryFn: ({ signal }) =>
      fetchAll((cursor) =>
        take(
          api.GET('/api/v1/teams/{team}/bindings', {
            params: { path: { team }, query: { cursor, limit: PAGE_SIZE } },
            signal,
          }),
        ),
      ),
  })

/** Grants a role in place of the one that the user or group has in the team. */
export const bindRole = (team: string, body: BindingRequest) =>
  take(api.PUT('/api/v1/teams/{team}/bindings', { params: { path: { team } }, body }))

export const unbindRole = (team: string, id: number) =>
  take(
    api.DELETE('/api/v1/teams/{team}/bindings/{binding_id}', {
      params: { path: { team, binding_id: String(id) } },
    }),
  )
