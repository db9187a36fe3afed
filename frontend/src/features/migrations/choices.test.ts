import { migration, migrationChoice, price } from '@/testing/factories'
import { priceInWords, refusalOf, reverseOf } from './choices'

it('says why a choice cannot be made', () => {
  expect(refusalOf(migration(), 'approve')).toBeNull()
  expect(refusalOf(migration(), 'advance')).toBe('1 more must approve it.')
  expect(refusalOf(migration(), 'rollback')).toBe('This is not possible at this stage.')
  const choices = [migrationChoice('abort', { allowed: false, reason: 'Too late.' })]
  expect(refusalOf(migration({ choices }), 'abort')).toBe('Too late.')
})

describe('a price', () => {
  it('of nothing says so', () => {
    expect(priceInWords(price({ words: 'The old agent never noticed.' }))).toBe(
      'It costs nothing. The old agent never noticed.',
    )
  })

  it('has its figures first', () => {
    const given = price({ exact: false, pause: 20, duplicates_max: 1_200, words: 'They stay.' })
    expect(priceInWords(given)).toBe('It costs a pause of about 20 s, up to 1,200 records twice. They stay.')
  })
})

describe('the way back of what is committed', () => {
  const committed = { stage: 'COMMITTED', open: false } as const

  it('is the revision or the host of before', () => {
    expect(reverseOf(migration({ ...committed, old_revision: 3 }))).toEqual({
      pipeline: 'orders',
      kind: 'revision',
      revision: 3,
    })
    expect(reverseOf(migration({ ...committed, kind: 'host', old_host: 'alpha' }))).toMatchObject({
      host: 'alpha',
    })
  })

  it('is where it stood, of positions', () => {
    const place = { source: 'shop', channel: 'main', topic: 'orders-in' }
    const positions = [
      { ...place, partition: 0, offset: 10 },
      { ...place, partition: 1, offset: 20 },
    ]
    const snapshot = { digest: 'd', positions }
    expect(reverseOf(migration({ ...committed, kind: 'position', snapshot }))).toMatchObject({
      to: 'offsets=orders-in/0:10,orders-in/1:20',
    })
  })

  it('is asked for anew, of a cluster: positions have to be found there once more', () => {
    expect(reverseOf(migration({ ...committed, kind: 'cluster' }))).toEqual({
      pipeline: 'orders',
      kind: 'cluster',
    })
  })

  it('is nothing that the API knows, of software', () => {
    expect(reverseOf(migration({ ...committed, kind: 'software' }))).toBeNull()
  })
})
