import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'

/** The version, and every check: of the web server now, of workers as they reported last. */
export const installationQuery = queryOptions({
  queryKey: keys.installation,
  queryFn: ({ signal }) => take(api.GET('/api/v1/installation', { signal })),
})

/** Every setting of the web server, for administrators of all teams. */
export const settingsQuery = queryOptions({
  queryKey: keys.settings,
  queryFn: ({ signal }) => take(api.GET('/api/v1/installation/settings', { signal })),
})

/** The classes of Python interceptors, with the pipelines that name them. */
export const interceptorClassesQuery = queryOptions({
  queryKey: keys.interceptorClasses,
  queryFn: ({ signal }) => take(api.GET('/api/v1/installation/interceptors', { signal })),
})
