import { migration, migrationChoice, price } from '@/testing/factories'
import { priceInWords, refusalOf } from './choices'

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
