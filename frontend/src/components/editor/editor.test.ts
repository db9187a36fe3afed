import type { Finding, Validation } from '@/api/types'
import { notReady, type ValidationState } from './useValidation'

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
