import { migration } from '@/testing/factories'
import { waitingForPeople, whyWaiting } from './waiting'

it('names the migrations that a person holds up, the most urgent first', () => {
  const rows = [
    migration({ pipeline: 'planned' }),
    migration({ pipeline: 'moving', stage: 'PAUSING' }),
    migration({ pipeline: 'gated', stage: 'APPLYING', waits_for: 'READY_TO_CUT_OVER' }),
    migration({ pipeline: 'blocked', stage: 'DRAFT' }),
    migration({ pipeline: 'stuck', stage: 'NEEDS_ATTENTION', message: 'Its host is silent.' }),
  ]
  expect(waitingForPeople(rows).map(({ pipeline }) => pipeline)).toEqual(['stuck', 'gated', 'planned'])
  expect(whyWaiting(rows[4]!)).toBe('Its host is silent.')
  expect(whyWaiting(migration({ stage: 'APPROVED' }))).toBe('Ready to start.')
})
