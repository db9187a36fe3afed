import type { MigrationDetail, MigrationStage, MigrationStep } from '@/api/types'
import type { Term } from '@/domain/phases'
import vocabulary from '@/domain/vocabulary.json'
import { plural } from '@/lib/format'

export type WizardStep = keyof typeof vocabulary.wizardSteps

/** What each page is called, and what it is for. */
export const STEPS: Record<WizardStep, Term> = vocabulary.wizardSteps

/** The pages of the wizard, in order. */
export const WIZARD = Object.keys(STEPS) as WizardStep[]

/** The page on which a stage of the engine is shown. */
const PAGE_OF: Record<MigrationStage, WizardStep> = {
  DRAFT: 'plan',
  PLANNED: 'plan',
  APPROVED: 'approve',
  PREFLIGHT: 'preflight',
  SHADOWING: 'shadow',
  PAUSING: 'pause',
  PAUSE_PROVEN: 'proof',
  SNAPSHOT: 'snapshot',
  APPLYING: 'cut-over',
  READY_TO_CUT_OVER: 'cut-over',
  RESUMING: 'cut-over',
  VERIFYING: 'verify',
  COMMITTED: 'report',
  ROLLING_BACK: 'back',
  ROLLED_BACK: 'report',
  NEEDS_ATTENTION: 'back',
  ABORTED: 'report',
}

export function isWizardStep(name: string): name is WizardStep {
  return WIZARD.some((each) => each === name)
}

/** The page that a migration is at now. A gate is shown on the page that it stands before. */
export function currentStep(migration: MigrationDetail): WizardStep {
  const { stage, waits_for, steps } = migration
  if (waits_for === 'COMMITTED' && stage === 'VERIFYING') return 'commit'
  if (waits_for && stage !== 'VERIFYING') return PAGE_OF[waits_for]
  if (stage === 'ABORTED' && steps.length === 0) return 'plan'
  if (stage === 'NEEDS_ATTENTION' && rowsOf(migration, 'back').length === 0)
    return failedPage(steps) ?? 'verify'
  return PAGE_OF[stage]
}

/** Whether a page goes on to where the migration is `now`: the one that it was at `before`, or one that it has passed
 * since then between two reads. */
export function isFollowed(page: WizardStep, before: WizardStep, now: WizardStep): boolean {
  const [at, from, to] = [page, before, now].map((each) => WIZARD.indexOf(each)) as [number, number, number]
  return at === from || (from < at && at < to)
}

function failedPage(steps: MigrationStep[]): WizardStep | undefined {
  const failed = steps.find(({ state }) => state === 'failed')
  return failed && PAGE_OF[failed.stage]
}

/** The steps of the engine that a page shows. */
export function rowsOf({ steps }: Pick<MigrationDetail, 'steps'>, page: WizardStep): MigrationStep[] {
  return steps.filter(({ stage }) => PAGE_OF[stage] === page)
}

/** Whether a migration that ended has left nothing: it was rolled back to the end, or had nothing to roll back. One
 * that was closed leaves the pipeline wherever it stood. */
export function isRolledBack({ stage, steps }: Pick<MigrationDetail, 'stage' | 'steps'>): boolean {
  const last = rowsOf({ steps }, 'back').at(-1)
  const unfinished = steps.some(({ state }) => state === 'pending' || state === 'running')
  return stage !== 'COMMITTED' && !unfinished && (last === undefined || last.state === 'done')
}

/** The pages that mean something for a migration: the shadow and the rollback only where there is one. */
export function pagesOf(migration: MigrationDetail): WizardStep[] {
  const back = rowsOf(migration, 'back').length > 0
  const shadow = Boolean(migration.plan?.shadow)
  return WIZARD.filter((page) => (page !== 'back' || back) && (page !== 'shadow' || shadow))
}

export type PageState = 'done' | 'current' | 'failed' | 'skipped' | 'todo'

export function pageState(migration: MigrationDetail, page: WizardStep): PageState {
  if (currentStep(migration) === page && migration.open) return 'current'
  const started = migration.steps.length > 0
  switch (page) {
    case 'change':
      return 'done'
    case 'plan':
      return migration.stage === 'DRAFT' ? 'current' : 'done'
    case 'approve':
      return started ? 'done' : migration.open ? 'todo' : 'skipped'
    case 'commit':
      return migration.stage === 'COMMITTED' ? 'done' : migration.open ? 'todo' : 'skipped'
    case 'report':
      return migration.open ? 'todo' : 'done'
    default:
      return stateOfRows(rowsOf(migration, page), migration.open)
  }
}

function stateOfRows(rows: MigrationStep[], open: boolean): PageState {
  const states = new Set(rows.map(({ state }) => state))
  if (states.has('failed')) return 'failed'
  if (states.has('running')) return 'current'
  if (rows.length > 0 && rows.every(({ state }) => state === 'done')) return 'done'
  return states.has('skipped') || !open ? 'skipped' : 'todo'
}

/** The page before and the page after; null at the ends. */
export function neighbours(migration: MigrationDetail, page: WizardStep) {
  const pages = pagesOf(migration)
  const place = pages.indexOf(page)
  return { before: pages[place - 1] ?? null, after: pages[place + 1] ?? null }
}

/** Why the page after this one cannot be gone to yet; null when it can. */
export function whyNotNext(migration: MigrationDetail, page: WizardStep): string | null {
  const { plan, stale, stage } = migration
  if (page === 'change' || !migration.open) return null
  if (page === 'plan') {
    if (plan === null) return 'There is no plan yet. Plan the migration again.'
    if (plan.blockers.length > 0)
      return `${plural(plan.blockers.length, 'blocker')}. Resolve ${plan.blockers.length === 1 ? 'it' : 'them'} first.`
    return stale ? 'The pipeline has changed since this plan was made. Plan the migration again.' : null
  }
  if (page === 'approve' && migration.steps.length === 0)
    return stage === 'APPROVED'
      ? 'Approved. Start the migration first.'
      : 'Approve and start the migration first.'
  const state = pageState(migration, page)
  if (state === 'todo') return 'This step has not started yet.'
  if (state !== 'current') return null
  return migration.waits_for
    ? 'Awaiting approval. Continue the migration first.'
    : `In progress: ${migration.message}`
}

/** Seconds until the deadline of a step that is under way; null of any other. */
export function secondsLeft(step: MigrationStep, now: number): number | null {
  if (step.state !== 'running' || step.intent_at === null) return null
  return Math.max(0, Math.ceil(step.seconds - (now - Date.parse(step.intent_at)) / 1_000))
}
