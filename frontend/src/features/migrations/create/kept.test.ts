import { choose, EMPTY_CLUSTER, pair } from './cluster/draft'
import { EMPTY } from './draft'
import { dropForm, keepForm, readForm } from './kept'

const KEY = 'headgate.migration.orders.cluster'
const definition = { sources: { shop: { type: 'kafka', bootstrap_servers: 'old:9092', group_id: 'g' } } }
const cluster = { ...choose(definition, 'sources.shop'), servers: 'new:9092', options: [pair('a', '1')] }
const form = { link: '{}', draft: { ...EMPTY, text: 'name: orders', cluster }, reason: 'a new cluster' }

beforeEach(() => sessionStorage.clear())

it('keeps what a person wrote, by pipeline and kind', () => {
  keepForm('orders', 'cluster', form)
  const kept = readForm('orders', 'cluster')
  expect(kept).toMatchObject({ reason: 'a new cluster', draft: { cluster: { servers: 'new:9092' } } })
  expect(kept?.draft.cluster.options).toEqual(cluster.options)
  expect(readForm('orders', 'host')).toBeNull()
  expect(readForm('clicks', 'cluster')).toBeNull()
  dropForm('orders', 'cluster')
  expect(readForm('orders', 'cluster')).toBeNull()
})

it('keeps neither the text, which has a place of its own, nor the component as it is now', () => {
  keepForm('orders', 'cluster', form)
  expect(readForm('orders', 'cluster')?.draft).toMatchObject({ text: '', cluster: { present: {} } })
  expect(sessionStorage.getItem(KEY)).not.toContain('old:9092')
})

it('keeps the share that may differ in a shadow', () => {
  const shadow = { ...EMPTY.shadow, by: 'records' as const, percent: 5 }
  keepForm('orders', 'revision', { ...form, draft: { ...EMPTY, shadow } })
  expect(readForm('orders', 'revision')?.draft.shadow).toEqual(shadow)
})

it.each([
  ['no JSON', '{'],
  ['nothing', 'null'],
  ['another shape', '[]'],
  ['a draft that lacks what there is today', JSON.stringify({ ...form, draft: { text: '' } })],
  [
    'a list of something else',
    JSON.stringify({ ...form, draft: { ...EMPTY, cluster: { ...EMPTY_CLUSTER, options: ['a=1'] } } }),
  ],
  ['a line without its value', JSON.stringify({ ...form, draft: { ...EMPTY, gates: [1] } })],
])('takes %s for nothing', (_, stored) => {
  sessionStorage.setItem(KEY, stored)
  expect(readForm('orders', 'cluster')).toBeNull()
})
