import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, paged, PAGE_SIZE } from './paging'
import type { Alert, Matchers, RuleBody, RuleRequest, Severity, Silence, SilenceRequest } from './types'

export interface AlertFilter {
  state?: Alert['state']
  severity?: Severity
  label?: string
  rule?: string
  pipeline?: string
}

const once = () => ({ 'Idempotency-Key': randomKey() })

/** Alerts, newest first: those that stand, unless a state is given. */
export const alertsQuery = (filter: AlertFilter) =>
  infiniteQueryOptions({
    queryKey: keys.alerts(filter),
    queryFn: ({ pageParam, signal }) => {
      const params = { query: { ...filter, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/alerts', { params, signal }))
    },
    ...paged,
  })

/** The newest alerts that nobody has acknowledged. */
export const openAlertsQuery = queryOptions({
  queryKey: keys.openAlerts,
  queryFn: async ({ signal }) => {
    const params = { query: { state: 'OPEN', limit: 50 } } as const
    return (await take(api.GET('/api/v1/alerts', { params, signal }))).results
  },
})

const MOST_COUNTED = 200

/** The alerts that a silence would be about now, as the server finds them; `more` where there are further ones. Each
 *  matcher names one value at most. */
export const matchedAlertsQuery = ({ pipelines, labels, rules, severities }: Matchers) => {
  const query = {
    pipeline: pipelines[0],
    label: labels[0],
    rule: rules[0],
    severity: severities[0] as Severity | undefined,
  }
  return queryOptions({
    queryKey: keys.alerts({ matched: query }),
    queryFn: async ({ signal }) => {
      const params = { query: { ...query, limit: MOST_COUNTED } }
      const found = await take(api.GET('/api/v1/alerts', { params, signal }))
      return { count: found.results.length, more: found.next !== null }
    },
  })
}

/** Every rule with its defaults and what is set. */
export const alertRulesQuery = queryOptions({
  queryKey: keys.alertRules,
  queryFn: ({ signal }) => take(api.GET('/api/v1/alert-rules', { signal })),
})

/** Sets a rule for a scope, in place of what was set there. */
export const setAlertRule = (rule: string, body: RuleRequest) =>
  take(api.PUT('/api/v1/alert-rules/{rule}', { params: { path: { rule } }, body: body as RuleBody }))

/** Removes what is set for a scope; the wider settings count again. */
export const resetAlertRule = (rule: string, scope: { label: string; pipeline: string }) =>
  take(api.DELETE('/api/v1/alert-rules/{rule}', { params: { path: { rule }, query: scope } }))

/** How many alerts stand. */
export const alertCountsQuery = queryOptions({
  queryKey: keys.alertCounts,
  queryFn: ({ signal }) => take(api.GET('/api/v1/alerts/counts', { signal })),
})

export const acknowledgeAlert = ({ id, note }: { id: number; note: string }) =>
  take(
    api.POST('/api/v1/alerts/{alert_id}/acknowledge', {
      params: { path: { alert_id: String(id) }, header: once() },
      body: { note },
    }),
  )

/** Silences that hold something back now. */
export const silencesQuery = queryOptions({
  queryKey: keys.silences,
  queryFn: ({ signal }) =>
    fetchAll<Silence>((cursor) =>
      take(
        api.GET('/api/v1/silences', {
          params: { query: { state: 'ACTIVE', cursor, limit: PAGE_SIZE } },
          signal,
        }),
      ),
    ),
})

export const createSilence = (body: SilenceRequest) =>
  take(api.POST('/api/v1/silences', { params: { header: once() }, body }))

export const endSilence = (id: number) =>
  take(
    api.POST('/api/v1/silences/{silence_id}/end', {
      params: { path: { silence_id: String(id) }, header: once() },
      body: {},
    }),
  )
