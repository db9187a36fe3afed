import { Link, Navigate, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { Problem } from '@/api/problem'
import type { MigrationDetail } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Findings } from '@/components/ui/Findings'
import { PageHeader } from '@/components/ui/PageHeader'
import { useShortTime } from '@/components/ui/Time'
import { durationOf, KINDS, movement, STAGES } from '@/domain/migrations'
import { useNoRights, useReadOnly } from '@/components/teams/useReadOnly'
import { useNow } from '@/lib/clock'
import { Footer } from './Footer'
import { StageBadge } from '@/components/migrations/StageBadge'
import { StepNav } from './StepNav'
import { currentStep, isFollowed, isWizardStep, STEPS, type WizardStep } from './steps'
import { STEP_PAGES } from './stepPages'
import { useMigration } from './useMigration'
import { RollbackPanel } from './RollbackPanel'
import classes from './migrations.module.css'

/** `/migrations/ID` leads to the page that the migration is at. */
export function CurrentStep() {
  const { id } = useParams({ from: '/migrations/$id' })
  const { data, error, refetch } = useMigration(id)
  if (error && !data) return <Missing error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading rows={6} />
  return <Navigate to="/migrations/$id/$step" params={{ id, step: currentStep(data) }} replace />
}

/** One page of the wizard. Every user who opens the address sees the same, and can continue it. */
export function MigrationPage() {
  const { id, step } = useParams({ from: '/migrations/$id/$step' })
  const { data, error, refetch } = useMigration(id)
  if (error && !data) return <Missing error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading rows={6} />
  if (!isWizardStep(step)) return <Navigate to="/migrations/$id" params={{ id }} replace />
  return <Wizard migration={data} step={step} />
}

function Wizard({ migration, step }: { migration: MigrationDetail; step: WizardStep }) {
  useFollowing(migration, step)
  const readOnly = useReadOnly(migration.pipeline)
  const rights = useNoRights(migration.pipeline)
  const Content = STEP_PAGES[step]
  const started = migration.steps.length > 0
  return (
    <div className={classes.page}>
      <PageHeader
        title={`${KINDS[migration.kind].label}: ${migration.pipeline}`}
        documentTitle={`${STEPS[step].label}, ${KINDS[migration.kind].label} of ${migration.pipeline}`}
        before={<Crumbs name={migration.pipeline} />}
        beside={<StageBadge stage={migration.stage} />}
      >
        <Headline migration={migration} />
      </PageHeader>
      {migration.stale && (
        <p className={classes.warning} role="alert">
          The pipeline has changed since this plan was made. Plan the migration again.
        </p>
      )}
      {started && <Findings findings={migration.findings} title="Reason" />}
      <div className={classes.layout}>
        <StepNav migration={migration} shown={step} />
        <div className={classes.content}>
          <Content key={step} migration={migration} readOnly={readOnly} />
          <Footer migration={migration} step={step} />
          <RollbackPanel migration={migration} rights={rights} />
        </div>
      </div>
    </div>
  )
}

function Headline({ migration }: { migration: MigrationDetail }) {
  const now = useNow()
  const time = useShortTime()
  const { reason, created_by, created_at, message, stage, runner_host, started_at } = migration
  const moved = movement(migration)
  return (
    <>
      <p className={classes.sentence}>
        <strong>{STAGES[stage].meaning}</strong> {message}
      </p>
      <p className={classes.note}>
        {[
          `Requested by ${created_by} at ${time(created_at)}: ${reason}`,
          moved,
          started_at && `${migration.open ? 'running for' : 'took'} ${durationOf(migration, now)}`,
          runner_host && migration.open && `run by the supervisor on ${runner_host}`,
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
    </>
  )
}

/** The page that the migration was at, or has passed, follows it; any other page is left alone. */
function useFollowing(migration: MigrationDetail, step: WizardStep) {
  const navigate = useNavigate()
  const now = currentStep(migration)
  const last = useRef(now)
  useEffect(() => {
    const before = last.current
    last.current = now
    if (before === now) return
    announce(`${STAGES[migration.stage].label}. ${migration.message}`)
    if (isFollowed(step, before, now))
      void navigate({
        to: '/migrations/$id/$step',
        params: { id: migration.id, step: now },
        search: true,
        replace: true,
        resetScroll: false,
      })
  }, [now, step, migration, navigate])
}

function Crumbs({ name }: { name: string }) {
  return (
    <nav aria-label="Breadcrumb" className={classes.crumbs}>
      <Link to="/migrations">Migrations</Link> <span aria-hidden>/</span>{' '}
      <Link to="/pipelines/$name" params={{ name }}>
        {name}
      </Link>
    </nav>
  )
}

function Missing({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const gone = error instanceof Problem && [400, 404, 422].includes(error.status)
  return (
    <div className={classes.page}>
      <PageHeader title={gone ? 'Migration not found' : 'Migration'} />
      {gone ? (
        <p>
          It may have been deleted with its pipeline. <Link to="/migrations">Show all migrations</Link>.
        </p>
      ) : (
        <ErrorNote error={error} onRetry={onRetry} />
      )}
    </div>
  )
}
