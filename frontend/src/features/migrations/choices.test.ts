import { migration, migrationChoice, impact } from '@/testing/factories'
import { describeImpact, refusalOf } from './choices'

it('says why a choice cannot be made', () => {
  expect(refusalOf(migration(), 'approve')).toBeNull()
  expect(refusalOf(migration(), 'advance')).toBe('1 more must approve it.')
  expect(refusalOf(migration(), 'rollback')).toBe('This action is not available at this stage.')
  const choices = [migrationChoice('abort', { allowed: false, reason: 'Too late.' })]
  expect(refusalOf(migration({ choices }), 'abort')).toBe('Too late.')
})

describe('an expected impact', () => {
  it('of nothing says so', () => {
    expect(describeImpact(impact({ words: 'The old agent keeps running.' }))).toBe(
      'Expected impact: none. The old agent keeps running.',
    )
  })

  it('has its figures first', () => {
    const given = impact({ exact: false, pause: 20, duplicates_max: 1_200, words: 'They stay.' })
    expect(describeImpact(given)).toBe(
      'Expected impact: pause of about 20 s, at most 1,200 possible duplicates. They stay.',
    )
  })

  it('counts one record as one', () => {
    const given = impact({ exact: false, skip: 1, replay: 1, duplicates_max: 1, words: 'They stay.' })
    expect(describeImpact(given)).toBe(
      'Expected impact: 1 record skipped, 1 record reread, at most 1 possible duplicate. They stay.',
    )
  })

  it('that was not counted promises nothing', () => {
    expect(describeImpact(impact({ exact: false, words: 'Nothing is done.' }))).toBe('Nothing is done.')
  })
})
