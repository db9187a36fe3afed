import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'
import { paged } from './paging'

/** Which rows of the audit; each part lives in the address of the page. */
export interface AuditFilter {
  actor?: string
  action?: string
  object?: string
  pipeline?: string
  team?: string
  token?: string
  outcome?: string
  text?: string
  since?: string
  until?: string
}

export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: keys.audit(filter),
    queryFn: ({ pageParam, signal }) =>
      take(
        api.GET('/api/v1/audit', { params: { query: { ...filter, limit: 50, cursor: pageParam } }, signal }),
      ),
    ...paged,
  })

export const auditRowQuery = (id: number) =>
  queryOptions({
    queryKey: keys.auditRow(id),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/audit/{row_id}', { params: { path: { row_id: String(id) } }, signal })),
  })

export const auditChainQuery = queryOptions({
  queryKey: keys.auditChain,
  queryFn: ({ signal }) => take(api.GET('/api/v1/audit/chain', { signal })),
})

/** Asks a worker for a walk over the whole chain. */
export const verifyAudit = () => take(api.POST('/api/v1/audit/chain/verify'))

/** Where the browser downloads the rows from; a file of a million rows never passes through the page. */
export function exportAddress(format: 'jsonl' | 'csv', filter: AuditFilter): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  return `/api/v1/audit/export?${new URLSearchParams([['format', format], ...given])}`
}
