import type { Finding, Validation } from '@/api/types'
import { locate } from './locate'
import { notReady, type ValidationState } from './useValidation'

const TEXT = 'name: orders\nsources:\n  shop: {}\n'

describe('a finding in the text', () => {
  it('stands from its column to the end of its line', () => {
    const { from, to } = locate(TEXT, { line: 3, column: 3 })
    expect(TEXT.slice(from, to)).toBe('shop: {}')
  })

  it('stands on the first line when it names none, and never outside the text', () => {
    expect(locate(TEXT, { line: null, column: null })).toEqual({ from: 0, to: 12 })
    expect(locate('x', { line: 99, column: 99 })).toEqual({ from: 1, to: 1 })
    expect(locate('', { line: 1, column: 1 })).toEqual({ from: 0, to: 0 })
  })
})

describe('why a definition cannot be sent yet', () => {
  const finding = (severity: Finding['severity']): Finding => ({
    path: 'name',
    code: 'missing',
    message: '',
    suggestion: '',
    severity,
    line: 1,
    column: 1,
  })
  const state = (validation: Partial<Validation>, fields: Partial<ValidationState> = {}) =>
    ({
      validation: { valid: true, findings: [], definition: null, digest: null, ...validation },
      pending: false,
      error: null,
      ...fields,
    }) as ValidationState

  it('is nothing once it was found valid, warnings or not', () => {
    expect(notReady('x', state({}))).toBeNull()
    expect(notReady('x', state({ findings: [finding('warning')] }))).toBeNull()
  })

  it('counts the errors', () => {
    const findings = [finding('error'), finding('error'), finding('warning')]
    expect(notReady('x', state({ valid: false, findings }))).toBe('Fix 2 findings first.')
  })

  it('waits for the check of the text as it stands', () => {
    expect(notReady('x', state({}, { pending: true }))).toBe('Checking the definition.')
    expect(notReady('  ', state({}))).toBe('The definition is empty.')
    expect(notReady('x', state({}, { error: new Error('away') }))).toBe(
      'The server has not checked the definition.',
    )
  })
})
