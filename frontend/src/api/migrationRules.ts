import { queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE } from './paging'
import type { ApprovalPolicy, ApprovalPolicyRequest, Freeze, FreezeRequest } from './types'

const once = () => ({ header: { 'Idempotency-Key': randomKey() } })

export const freezesQuery = queryOptions({
  queryKey: keys.freezes,
  queryFn: ({ signal }) =>
    fetchAll<Freeze>((cursor) =>
      take(api.GET('/api/v1/freezes', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const addFreeze = (body: FreezeRequest) => take(api.POST('/api/v1/freezes', { params: once(), body }))

export const removeFreeze = (id: number) =>
  take(api.DELETE('/api/v1/freezes/{freeze_id}', { params: { path: { freeze_id: String(id) } } }))

export const approvalPoliciesQuery = queryOptions({
  queryKey: keys.approvalPolicies,
  queryFn: ({ signal }) =>
    fetchAll<ApprovalPolicy>((cursor) =>
      take(api.GET('/api/v1/approval-policies', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const setApprovalPolicy = (body: ApprovalPolicyRequest) =>
  take(api.POST('/api/v1/approval-policies', { params: once(), body }))

export const removeApprovalPolicy = (id: number) =>
  take(api.DELETE('/api/v1/approval-policies/{policy_id}', { params: { path: { policy_id: String(id) } } }))
