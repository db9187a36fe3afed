import type { Difference, Preview } from '@/api/types'

export const PREVIEW_ID = '0f0e0d0c-0b0a-4090-8080-706050403020'

/** Of one record that is delivered no more. */
export const preview = (fields: Partial<Preview> = {}): Preview => ({
  ...{
    id: PREVIEW_ID,
    pipeline: 'orders',
    base: 3,
    digest: 'd',
    source: 'shop',
    state: 'DONE',
    requested_by: 'ana',
  },
  ...{ requested_at: '2026-11-22T10:00:00Z', started_at: null, ended_at: null },
  ...{ expires_at: '2026-11-23T10:00:00Z', shows_records: true, error: null },
  selection: { last: 1000, since: null, ranges: [], sample: 1 },
  result: {
    ...{
      source: 'shop',
      records: 2,
      size: 20,
      ranges: [],
      notes: ['Two offsets have expired.'],
      differing: 1,
    },
    counts: [
      { result: 'delivered', component: 'channels.lake', before: 2, after: 1 },
      { result: 'filtered', component: 'sources.shop.interceptors[0]', before: 0, after: 1 },
    ],
    kinds: { newly_filtered: 1 },
    components: { 'sources.shop.interceptors[0]': 1 },
    before: null,
    after: null,
    not_compared: { headers: ['at'], key: false, body: false },
  },
  ...fields,
})

export const difference: Difference = {
  ...{ number: 0, topic: 'orders', partition: 1, offset: 7, copy_number: 0, headers: [] },
  kinds: ['newly_filtered'],
  components: ['sources.shop.interceptors[0]'],
  body: [{ name: '/n', before: '1', after: null }],
  record: { key: 'k', headers: [['h', 'v']], bytes: 9, body: '{"n":1}', note: '' },
  before: {
    ...{ result: 'delivered', channels: ['lake'], component: '', cause: '' },
    event: { key: 'k', headers: [['h', 'v']], bytes: 9, body: '{"n":1}', note: '' },
  },
  after: {
    ...{ result: 'filtered', channels: [], component: 'sources.shop.interceptors[0]', cause: '' },
    event: null,
  },
}
