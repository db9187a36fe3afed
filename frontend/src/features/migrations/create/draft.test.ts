import { DEFAULT_RULES } from '@/domain/observationRules'
import { asSent, EMPTY, missing, specOf } from './draft'

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

it('says what is missing', () => {
  expect(missing('revision', { ...EMPTY, from: 'stored' })).toBe('Choose a revision first.')
  expect(missing('host', EMPTY)).toBe('Choose a host first.')
  expect(missing('position', { ...EMPTY, to: '  ' })).toBe('Write where to go on first.')
  expect(missing('cluster', EMPTY)).toBe('Choose the source or the sink that moves first.')
})
