import type { MigrationDetail, MigrationStage, MigrationStep } from '@/api/types'
import { finding, migration, migrationPlan, migrationStep, T0 } from '@/testing/factories'
import {
  currentStep,
  isFollowed,
  isRolledBack,
  neighbours,
  pagesOf,
  pageState,
  secondsLeft,
  whyNotNext,
} from './steps'

const started = (stage: MigrationStage, fields: Partial<MigrationDetail> = {}) =>
  migration({
    stage,
    started_at: T0,
    steps: [
      migrationStep('prepare_standby', 'PREFLIGHT', { state: 'done', intent_at: T0, done_at: T0 }),
      migrationStep('pause', 'PAUSING', { state: 'running', intent_at: T0 }),
      migrationStep('prove_pause', 'PAUSE_PROVEN'),
    ],
    ...fields,
  })

describe('the page that a migration is at', () => {
  it.each([
    ['DRAFT', 'plan'],
    ['PLANNED', 'plan'],
    ['APPROVED', 'approve'],
    ['PREFLIGHT', 'preflight'],
    ['PAUSING', 'pause'],
    ['PAUSE_PROVEN', 'proof'],
    ['SNAPSHOT', 'snapshot'],
    ['APPLYING', 'cut-over'],
    ['READY_TO_CUT_OVER', 'cut-over'],
    ['RESUMING', 'cut-over'],
    ['VERIFYING', 'verify'],
    ['COMMITTED', 'report'],
    ['ROLLED_BACK', 'report'],
  ] as const)('in %s is %s', (stage, page) => {
    expect(currentStep(started(stage))).toBe(page)
  })

  it('is the one before which it waits for a person', () => {
    expect(currentStep(started('PREFLIGHT', { waits_for: 'PAUSING' }))).toBe('pause')
    expect(currentStep(started('VERIFYING', { waits_for: 'COMMITTED' }))).toBe('commit')
  })

  it('is the step that failed where a person has to choose and nothing was taken back', () => {
    const steps = [migrationStep('observe', 'VERIFYING', { state: 'failed' })]
    expect(currentStep(started('NEEDS_ATTENTION', { steps }))).toBe('verify')
  })

  it('is the way back where there is one', () => {
    const steps = [migrationStep('restore', 'ROLLING_BACK', { state: 'failed' })]
    expect(currentStep(started('NEEDS_ATTENTION', { steps }))).toBe('back')
    expect(pagesOf(started('ROLLING_BACK', { steps }))).toContain('back')
    expect(pagesOf(started('PAUSING'))).not.toContain('back')
    expect(pagesOf(started('PAUSING'))).not.toContain('shadow')
    const shadow = { seconds: 600, records: null, most_different: null, channels: { shop: 'main' } }
    expect(pagesOf(started('SHADOWING', { plan: migrationPlan({ shadow }) }))).toContain('shadow')
  })
})

describe('a page that is open while the migration goes on', () => {
  it.each([
    ['pause', 'pause', 'proof', true],
    ['verify', 'verify', 'back', true],
    // The engine may be past the approval by the time that the page reads of it.
    ['approve', 'plan', 'preflight', true],
    ['approve', 'plan', 'approve', false],
    ['plan', 'pause', 'proof', false],
    ['verify', 'pause', 'proof', false],
  ] as const)('%s: from %s to %s goes along: %s', (page, before, now, goes) => {
    expect(isFollowed(page, before, now)).toBe(goes)
  })
})

describe('the state of a page', () => {
  it('follows the steps of the engine', () => {
    const found = started('PAUSING')
    expect(pageState(found, 'approve')).toBe('done')
    expect(pageState(found, 'preflight')).toBe('done')
    expect(pageState(found, 'pause')).toBe('current')
    expect(pageState(found, 'proof')).toBe('todo')
    expect(pageState(found, 'report')).toBe('todo')
  })

  it('of what was never come to is skipped once it is over', () => {
    const over = migration({ stage: 'ABORTED', open: false })
    expect(pageState(over, 'approve')).toBe('skipped')
    expect(pageState(over, 'proof')).toBe('skipped')
    expect(pageState(over, 'commit')).toBe('skipped')
  })
})

describe('a disabled Next', () => {
  it('says how many findings block the plan', () => {
    const blocked = migration({ stage: 'DRAFT', plan: migrationPlan({ blockers: [finding(), finding()] }) })
    expect(whyNotNext(blocked, 'plan')).toMatch(/^2 blockers/)
    expect(whyNotNext(migration(), 'plan')).toBeNull()
  })

  it('says that a stale plan has to be made again', () => {
    expect(whyNotNext(migration({ stale: true }), 'plan')).toMatch(/Plan the migration again/)
  })

  it('says what it is at', () => {
    expect(whyNotNext(migration(), 'approve')).toMatch(/Approve and start the migration first/)
    const found = started('PAUSING', { message: 'A batch is being finished.' })
    expect(whyNotNext(found, 'pause')).toBe('In progress: A batch is being finished.')
    expect(whyNotNext(found, 'proof')).toBe('This step has not started yet.')
    expect(whyNotNext(found, 'preflight')).toBeNull()
  })

  it('is none once it is over', () => {
    expect(whyNotNext(migration({ stage: 'ABORTED', open: false }), 'proof')).toBeNull()
  })
})

it('goes from page to page, over the way back where there is none', () => {
  expect(neighbours(migration(), 'change')).toEqual({ before: null, after: 'plan' })
  expect(neighbours(migration(), 'commit')).toEqual({ before: 'verify', after: 'report' })
  expect(neighbours(migration(), 'report').after).toBeNull()
})

it('knows how long a step that is under way may still take', () => {
  const step = migrationStep('pause', 'PAUSING', { state: 'running', intent_at: T0, seconds: 60 })
  expect(secondsLeft(step, Date.parse(T0) + 20_000)).toBe(40)
  expect(secondsLeft(step, Date.parse(T0) + 90_000)).toBe(0)
  expect(secondsLeft({ ...step, state: 'done' }, 0)).toBeNull()
})

describe('whether nothing is left of a migration that is over', () => {
  const failed = migrationStep('promote', 'RESUMING', { state: 'failed' })
  const skipped = migrationStep('observe', 'VERIFYING', { state: 'skipped' })
  const back = (name: MigrationStep['name'], state: MigrationStep['state']) =>
    migrationStep(name, 'ROLLING_BACK', { state })

  it('is so where nothing was begun, or nothing had to be taken back', () => {
    expect(isRolledBack({ stage: 'ABORTED', steps: [] })).toBe(true)
    expect(isRolledBack({ stage: 'ABORTED', steps: [failed, skipped] })).toBe(true)
  })

  it('is so where the way back was gone to its end, at the second try too', () => {
    const gone = [back('restore', 'done'), back('start_old', 'done')]
    expect(isRolledBack({ stage: 'ROLLED_BACK', steps: [failed, skipped, ...gone] })).toBe(true)
    const first = [back('restore', 'failed'), back('start_old', 'skipped')]
    expect(isRolledBack({ stage: 'ROLLED_BACK', steps: [failed, skipped, ...first, ...gone] })).toBe(true)
  })

  it('is unknown where it was closed', () => {
    const stuck = [failed, skipped, back('restore', 'done'), back('start_old', 'failed')]
    expect(isRolledBack({ stage: 'ROLLED_BACK', steps: stuck })).toBe(false)
    const halfway = [failed, skipped, back('resume_old', 'failed'), back('discard_standby', 'pending')]
    expect(isRolledBack({ stage: 'ABORTED', steps: halfway })).toBe(false)
    const forward = [failed, migrationStep('observe', 'VERIFYING')]
    expect(isRolledBack({ stage: 'ABORTED', steps: forward })).toBe(false)
    expect(isRolledBack({ stage: 'COMMITTED', steps: [failed] })).toBe(false)
  })
})
