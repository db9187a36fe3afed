import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { Secret } from './types'

export type Purpose = Secret['purpose']

export const secretsQuery = queryOptions({
  queryKey: keys.secrets,
  queryFn: ({ signal }) =>
    fetchAll((cursor) =>
      take(api.GET('/api/v1/secrets', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

/** What a secret of pipelines is bound to. */
export type Binding = Pick<Secret, 'pipelines' | 'destinations'>

/** Stores a value, null where it is kept elsewhere. Without a binding, a secret that is there keeps the one that it has.
 * `team` null: the only one of the user, or the installation. */
export const putSecret = (
  name: string,
  value: string | null,
  purpose: Purpose,
  team: string | null,
  binding?: Binding,
) =>
  take(
    api.PUT('/api/v1/secrets/{name}', {
      params: { path: { name } },
      body: {
        value,
        purpose,
        team,
        pipelines: binding?.pipelines ?? null,
        destinations: binding?.destinations ?? null,
      },
    }),
  )

export const bindSecret = (name: string, binding: Binding) =>
  take(api.PATCH('/api/v1/secrets/{name}', { params: { path: { name } }, body: { ...binding, team: null } }))

export const deleteSecret = ({ name, purpose }: Pick<Secret, 'name' | 'purpose'>, force: boolean) =>
  take(api.DELETE('/api/v1/secrets/{name}', { params: { path: { name }, query: { force, purpose } } }))
