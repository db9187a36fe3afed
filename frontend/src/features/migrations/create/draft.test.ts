import type { MigrationKind, MigrationSpec } from '@/api/types'
import { DEFAULT_RULES } from '@/domain/observationRules'
import { asSent, type Draft, draftOf, EMPTY, missing, NO_SHADOW, specOf } from './draft'

describe('what is asked for', () => {
  it('is the text or the number of a revision', () => {
    expect(specOf('revision', { ...EMPTY, text: 'name: orders' })).toEqual({ definition: 'name: orders' })
    expect(specOf('revision', { ...EMPTY, from: 'stored', revision: 3 })).toEqual({ revision: 3 })
  })

  it('has the rules that differ from the usual ones, and the gates', () => {
    const rules = { ...DEFAULT_RULES, window: 5, then: 'ask' as const }
    expect(specOf('host', { ...EMPTY, host: 'beta', rules, gates: ['APPLYING'] })).toEqual({
      host: 'beta',
      rules: { window: 5, then: 'ask' },
      gates: ['APPLYING'],
    })
  })

  it('compares both revisions only where that is wanted, for a time or a number of records', () => {
    const revision = { ...EMPTY, from: 'stored', revision: 4 } as const
    const spec = (shadow: Partial<typeof NO_SHADOW>) =>
      specOf('revision', { ...revision, shadow: { ...NO_SHADOW, ...shadow } })
    expect(spec({})).toEqual({ revision: 4 })
    expect(spec({ by: 'records', records: 500 })).toEqual({ revision: 4, shadow: { records: 500 } })
    const timed = spec({ by: 'for', minutes: 2, percent: 5 })
    expect(timed).toEqual({ revision: 4, shadow: { for: 120, most_different: 0.05 } })
    const asked = { revision: 4, shadow: { records: 500, for: null, most_different: 0.07 } }
    expect(draftOf('revision', asked, {}).shadow?.percent).toBe(7)
    const stored = { ...timed, shadow: { for: 120, records: null, most_different: 0.05 } }
    expect(draftOf('revision', stored, {}).shadow).toEqual({
      ...NO_SHADOW,
      by: 'for',
      minutes: 2,
      percent: 5,
    })
  })

  it('names a source only where one was chosen', () => {
    expect(specOf('position', { ...EMPTY, to: ' latest ' })).toEqual({ to: 'latest' })
    expect(specOf('position', { ...EMPTY, to: 'latest', source: 'shop' })).toEqual({
      to: 'latest',
      source: 'shop',
    })
  })

  it('needs nothing for the software', () => {
    expect(specOf('software', EMPTY)).toEqual({})
    expect(missing('software', EMPTY)).toBeNull()
  })
})

it('shows a stored spec as it would be sent', () => {
  const rules = { ...DEFAULT_RULES, window: 5 }
  expect(asSent({ to: 'latest', source: null, target: { at: 1 }, rules, gates: [] })).toEqual({
    to: 'latest',
    rules: { window: 5 },
  })
})

it('shows a position that was sent without words by what it meant', () => {
  const target = { goal: 'timestamp', at: 1795313441137, offsets: {}, source: null }
  expect(asSent({ to: null, source: null, target })).toEqual({ target })
})

it('says what is missing', () => {
  expect(missing('revision', { ...EMPTY, from: 'stored' })).toBe('Choose a revision first.')
  expect(missing('host', EMPTY)).toBe('Choose a host first.')
  expect(missing('position', { ...EMPTY, to: '  ' })).toBe('Enter a start position first.')
  expect(missing('cluster', EMPTY)).toBe('Choose the source or sink to move first.')
})

describe('what was asked for before', () => {
  const shop = {
    ...{ type: 'kafka', bootstrap_servers: 'old:9092', topics: ['orders', 'returns'], group_id: 'g' },
    options: { 'sasl.token': '[hidden]', 'request.timeout.ms': 5000 },
  }
  const sinks = { out: { type: 'kafka', bootstrap_servers: 'old:9092', topic: 'out' } }
  const definition = { sources: { shop }, sinks }
  const again = (kind: MigrationKind, spec: MigrationSpec): Draft => ({
    ...EMPTY,
    ...draftOf(kind, spec, definition),
  })

  it.each<[MigrationKind, MigrationSpec]>([
    ['revision', { revision: 3 }],
    ['revision', { definition: 'name: orders' }],
    ['host', { host: 'beta', rules: { window: 5, then: 'ask' }, gates: ['APPLYING', 'COMMITTED'] }],
    ['position', { to: 'timestamp=-30m', source: 'shop' }],
    ['software', {}],
    [
      'cluster',
      {
        source: 'shop',
        to: { bootstrap_servers: 'new:9092', group_id: 'other', options: { 'sasl.token': '${secret:new}' } },
        topics: { orders: 'old.orders' },
        positions: { by: 'given', offsets: { 'old.orders': { 0: 12, 1: 9 }, returns: { 0: 3 } } },
      },
    ],
    [
      'cluster',
      {
        source: 'shop',
        to: { bootstrap_servers: 'new:9092' },
        positions: { by: 'mapping', topic: 'syncs', on: 'new' },
      },
    ],
    ['cluster', { sink: 'out', to: { bootstrap_servers: 'new:9092', topic: 'there' } }],
  ])('fills the form, which asks for the same again: %s %j', (kind, spec) => {
    const draft = again(kind, spec)
    expect(specOf(kind, draft)).toEqual(spec)
    expect(missing(kind, draft)).toBeNull()
  })

  it('is written as text where it was sent as data', () => {
    expect(again('position', { to: { offsets: { orders: { 0: 7 } } } }).to).toBe('offsets={"orders":{"0":7}}')
    expect(again('position', { to: { timestamp: '-30m' } }).to).toBe('timestamp=-30m')
    const target = { goal: 'offsets', offsets: { orders: { 0: 7 } }, source: 'shop' }
    expect(again('position', { target })).toMatchObject({ to: 'offsets={"orders":{"0":7}}', source: 'shop' })
    expect(again('position', { target: { goal: 'timestamp', at: 1795313441137 } }).to).toBe(
      'timestamp=1795313441137',
    )
    expect(again('position', { target: { goal: 'earliest' } }).to).toBe('earliest')
    expect(JSON.parse(again('revision', { definition: { name: 'orders' } }).text)).toEqual({ name: 'orders' })
  })

  it('never passes a mask for a value', () => {
    const to = { bootstrap_servers: 'new:9092', options: { 'sasl.password': '[hidden]' } }
    const spec = { source: 'shop', to, positions: { by: 'timestamp' } }
    expect(missing('cluster', again('cluster', spec))).toMatch(/^The value of sasl.password is hidden/)
    const same = { ...to, options: shop.options }
    expect(missing('cluster', again('cluster', { ...spec, to: same }))).toMatch(
      /^Enter the name and the value/,
    )
    const sent = { definition: { sources: { shop } } }
    expect(missing('revision', again('revision', sent))).toMatch(/^A value in the definition is hidden/)
    expect(missing('revision', { ...EMPTY, text: 'topics: [hidden]' })).toBeNull()
  })
})
