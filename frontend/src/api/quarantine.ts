import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import type { QuarantineRequest } from './types'

/** What is in quarantine, and the records that the last runs crashed at. */
export const quarantineQuery = (name: string) =>
  queryOptions({
    queryKey: keys.quarantine(name),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/pipelines/{name}/quarantine', { params: { path: { name } }, signal })),
  })

export const putInQuarantine = (name: string, body: QuarantineRequest) =>
  take(
    api.POST('/api/v1/pipelines/{name}/quarantine', {
      params: { path: { name }, header: { 'Idempotency-Key': randomKey() } },
      body,
    }),
  )
