import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, paged, PAGE_SIZE } from './paging'
import type { Webhook, WebhookDelivery, WebhookRequest } from './types'

const once = () => ({ 'Idempotency-Key': randomKey() })
const at = (id: number) => ({ path: { webhook_id: String(id) } })

export const webhooksQuery = queryOptions({
  queryKey: keys.webhooks,
  queryFn: ({ signal }) =>
    fetchAll<Webhook>((cursor) =>
      take(api.GET('/api/v1/webhooks', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const deliveriesQuery = (id: number, state?: WebhookDelivery['state']) =>
  infiniteQueryOptions({
    queryKey: keys.deliveries(id, state),
    queryFn: ({ pageParam, signal }) => {
      const params = { ...at(id), query: { state, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/webhooks/{webhook_id}/deliveries', { params, signal }))
    },
    ...paged,
  })

export const createWebhook = (body: WebhookRequest) =>
  take(api.POST('/api/v1/webhooks', { params: { header: once() }, body }))

/** Changes what is given, unless another user has changed the webhook meanwhile; what is left out stays. */
export function updateWebhook({ id, etag }: Webhook, body: Partial<WebhookRequest>): Promise<Webhook> {
  const params = { ...at(id), header: { 'If-Match': etag } }
  return take(api.PATCH('/api/v1/webhooks/{webhook_id}', { params, body: body as WebhookRequest }))
}

export const deleteWebhook = (id: number) =>
  take(api.DELETE('/api/v1/webhooks/{webhook_id}', { params: at(id) }))

export const pingWebhook = (id: number) =>
  take(api.POST('/api/v1/webhooks/{webhook_id}/ping', { params: { ...at(id), header: once() }, body: {} }))

export const retryDelivery = ({ webhook, id }: WebhookDelivery) =>
  take(
    api.POST('/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry', {
      params: { path: { webhook_id: String(webhook), delivery_id: String(id) }, header: once() },
      body: {},
    }),
  )
