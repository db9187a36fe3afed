import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import type { SourceOfTruth } from './types'

const once = (name: string) => ({ path: { name }, header: { 'Idempotency-Key': randomKey() } })

/** Sets the source of truth where a host knows more of a pipeline than the database. */
export const reconcile = (name: string, source_of_truth: SourceOfTruth, reason: string) =>
  take(
    api.POST('/api/v1/pipelines/{name}/reconcile', { params: once(name), body: { source_of_truth, reason } }),
  )

/** States that the run of a silent host is dead. The server wants the name once more. */
export const declareLost = (name: string) =>
  take(api.POST('/api/v1/pipelines/{name}/declare-lost', { params: once(name), body: { confirm: name } }))
