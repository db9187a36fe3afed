import type { Difference, PreviewResult } from '@/api/types'
import { isMasked, notSavable, savedTest, withTest } from './savedTest'

const RECORD = { key: 'k', headers: [['h', 'v']], bytes: 7, body: '{"n":1}', note: '' }
const RESULT = {
  source: 'shop',
  not_compared: { headers: ['at'], key: false, body: false },
} as unknown as PreviewResult

const found = (fields: object) =>
  ({
    topic: 'orders',
    partition: 1,
    offset: 7,
    copy_number: 0,
    record: RECORD,
    ...fields,
  }) as unknown as Difference

const DELIVERED = {
  result: 'delivered',
  channels: ['lake'],
  component: '',
  event: { ...RECORD, headers: [...RECORD.headers, ['at', '17'], ['twice', 'a'], ['twice', 'b']] },
}

it('expects what the definition makes of the record now, without what each run gives another value', () => {
  expect(savedTest(found({ after: DELIVERED }), RESULT)).toEqual({
    name: 'record orders/1:7',
    source: 'shop',
    given: [{ headers: { h: 'v' }, key: 'k', body: '{"n":1}' }],
    expect: [{ channels: ['lake'], headers: { h: 'v' }, key: 'k', body: '{"n":1}' }],
  })
})

it.each([
  [
    { result: 'filtered', component: 'sources.shop.interceptors[0]' },
    { filtered_by: 'sources.shop.interceptors[0]' },
  ],
  [{ result: 'dead_lettered', component: 'sources.shop' }, { dead: 'sources.shop' }],
  [{ result: 'unrouted', component: 'sources.shop.selector' }, { unrouted: true }],
])('expects an event that is %o to stay so', (after, expected) => {
  expect(savedTest(found({ after }), RESULT).expect).toEqual([expected])
})

it('says what cannot be saved, and what is masked', () => {
  const after = DELIVERED
  expect(notSavable(found({ after }))).toBeNull()
  expect(notSavable(found({ after, record: null }))).toMatch(/do not see/)
  expect(notSavable(found({ after, record: { ...RECORD, note: 'truncated' } }))).toMatch(
    /not shown as a whole/,
  )
  expect(notSavable(found({ after: null }))).toMatch(/no such event/)
  expect(notSavable(found({ after, copy_number: 1 }))).toMatch(/one of several/)
  const masked = { ...RECORD, body: '{"card":"[redacted]"}' }
  expect(isMasked(savedTest(found({ after, record: masked }), RESULT))).toBe(true)
  expect(isMasked(savedTest(found({ after }), RESULT))).toBe(false)
})

const TEST = { name: 'a "b"', source: 'shop', given: [{ body: 'x' }], expect: [{ unrouted: true }] }
const ITEM = [
  '- name: "a \\"b\\""',
  '  source: "shop"',
  '  given:',
  '    - {"body":"x"}',
  '  expect:',
  '    - {"unrouted":true}',
]
const item = (indent: string) => ITEM.map((line) => `${indent}${line}\n`).join('')

it('adds a test to the text and touches nothing else of it', () => {
  expect(withTest('name: a', TEST)).toBe(`name: a\ntests:\n${item('  ')}`)
  expect(withTest('tests:\n- name: z\nname: a\n', TEST)).toBe(`tests:\n${item('')}- name: z\nname: a\n`)
  expect(withTest('tests: # all\n\n    - name: z\n', TEST)).toBe(
    `tests: # all\n${item('    ')}\n    - name: z\n`,
  )
})

it('leaves a text alone in which tests are no list of lines', () => {
  expect(withTest('tests: [{"name": "a"}]\n', TEST)).toBeNull()
  expect(withTest('{"name": "a"}', TEST)).toBeNull()
})
