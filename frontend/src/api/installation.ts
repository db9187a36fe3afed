import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import type { ReadOnlyRequest } from './types'

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

/** Whether the installation is read-only, since when, by whom and why. */
export const readOnlyQuery = queryOptions({
  queryKey: keys.readOnly,
  queryFn: ({ signal }) => take(api.GET('/api/v1/installation/read-only', { signal })),
})

/** Turns the mode on or off; refused where another administrator was faster. */
export const setReadOnly = (body: ReadOnlyRequest, etag: string) =>
  take(api.PUT('/api/v1/installation/read-only', { params: { header: { 'If-Match': etag } }, body }))
