import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { keys } from './keys'
import { fetchAll, paged, PAGE_SIZE } from './paging'
import type { Receiver, ReceiverDelivery, ReceiverRequest } from './types'

const once = () => ({ 'Idempotency-Key': randomKey() })
const at = (id: number) => ({ path: { receiver_id: String(id) } })

export const receiversQuery = queryOptions({
  queryKey: keys.receivers,
  queryFn: ({ signal }) =>
    fetchAll<Receiver>((cursor) =>
      take(api.GET('/api/v1/receivers', { params: { query: { cursor, limit: PAGE_SIZE } }, signal })),
    ),
})

export const deliveriesQuery = (id: number, state?: ReceiverDelivery['state']) =>
  infiniteQueryOptions({
    queryKey: keys.deliveries(id, state),
    queryFn: ({ pageParam, signal }) => {
      const params = { ...at(id), query: { state, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/receivers/{receiver_id}/deliveries', { params, signal }))
    },
    ...paged,
  })

export const createReceiver = (body: ReceiverRequest) =>
  take(api.POST('/api/v1/receivers', { params: { header: once() }, body }))

/** Changes what is given, unless another user has changed the receiver meanwhile; what is left out stays. */
export function updateReceiver({ id, etag }: Receiver, body: Partial<ReceiverRequest>): Promise<Receiver> {
  const params = { ...at(id), header: { 'If-Match': etag } }
  return take(api.PATCH('/api/v1/receivers/{receiver_id}', { params, body: body as ReceiverRequest }))
}

export const deleteReceiver = (id: number) =>
  take(api.DELETE('/api/v1/receivers/{receiver_id}', { params: at(id) }))

export const testReceiver = (id: number) =>
  take(api.POST('/api/v1/receivers/{receiver_id}/test', { params: { ...at(id), header: once() }, body: {} }))

export const retryDelivery = ({ receiver, id }: ReceiverDelivery) =>
  take(
    api.POST('/api/v1/receivers/{receiver_id}/deliveries/{delivery_id}/retry', {
      params: { path: { receiver_id: String(receiver), delivery_id: String(id) }, header: once() },
      body: {},
    }),
  )
