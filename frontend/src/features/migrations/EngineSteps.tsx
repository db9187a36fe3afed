import {
  IconCheck,
  IconCircle,
  IconCircleMinus,
  IconCircleX,
  IconProgress,
  type Icon,
} from '@tabler/icons-react'
import type { MigrationDetail, MigrationStep } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { watchCall } from '@/domain/migrationCalls'
import { GATE_LABELS } from '@/domain/migrations'
import type { Tone } from '@/domain/phases'
import { useNow } from '@/lib/clock'
import { between, duration, NONE } from '@/lib/format'
import { refusalOf } from './choices'
import { DeedButton } from './DeedButton'
import type { StepProps } from './pages/props'
import { currentStep, rowsOf, secondsLeft, type WizardStep } from './steps'
import { TimelinePanel } from './timeline/TimelinePanel'

const LOOKS: Record<MigrationStep['state'], { tone: Tone; icon: Icon; word: string }> = {
  pending: { tone: 'idle', icon: IconCircle, word: 'Pending' },
  running: { tone: 'busy', icon: IconProgress, word: 'Running' },
  done: { tone: 'ok', icon: IconCheck, word: 'Done' },
  failed: { tone: 'bad', icon: IconCircleX, word: 'Failed' },
  skipped: { tone: 'idle', icon: IconCircleMinus, word: 'Skipped' },
}

/** What the engine does on a page, step by step, with the time that is left. */
export function EngineSteps({ migration, page }: { migration: MigrationDetail; page: WizardStep }) {
  const now = useNow()
  const rows = rowsOf(migration, page).map((row, place) => ({ ...row, place }))
  return (
    <Panel title="Steps" flush={rows.length > 0}>
      {rows.length === 0 ? (
        <p className="dim">No step has started yet. The plan lists the steps.</p>
      ) : (
        <Table
          label="Steps"
          head={
            <>
              <th>Step</th>
              <th>State</th>
              <th className="num">Duration</th>
              <th>Details</th>
            </>
          }
        >
          {rows.map((row) => (
            <tr key={row.place}>
              <th scope="row">{row.sentence}</th>
              <td>
                <State step={row} />
              </td>
              <td className="num">{row.done_at ? between(row.intent_at, row.done_at) : NONE}</td>
              <td>
                {row.message || NONE}
                <TimeLeft step={row} now={now} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}

function State({ step }: { step: MigrationStep }) {
  const { tone, icon, word } = LOOKS[step.state]
  return (
    <ToneBadge tone={tone} icon={icon} plain>
      {word}
      {step.tried > 1 && `, ${step.tried} attempts`}
    </ToneBadge>
  )
}

function TimeLeft({ step, now }: { step: MigrationStep; now: number }) {
  const left = secondsLeft(step, now)
  if (left === null) return null
  return (
    <div className="dim">
      {left > 0 ? `Times out in ${duration(left * 1_000)}, then rolls back.` : 'Timed out. Rolling back.'}
    </div>
  )
}

/** The steps of a page, the gate where it waits at one, and the call that shows the same. */
export function EnginePage({
  migration,
  readOnly,
  page,
  children,
}: StepProps & { page: WizardStep; children?: React.ReactNode }) {
  return (
    <>
      <Gate migration={migration} readOnly={readOnly} page={page} />
      <Stuck migration={migration} readOnly={readOnly} page={page} />
      <EngineSteps migration={migration} page={page} />
      {children}
      <TimelinePanel migration={migration} />
      <ShowCall call={watchCall(migration)} subject="Get migration" />
    </>
  )
}

/** The button that continues it, on the page before which it waits. */
export function Gate({ migration, readOnly, page }: StepProps & { page: WizardStep }) {
  const { waits_for } = migration
  if (waits_for === null || currentStep(migration) !== page) return null
  const words = GATE_LABELS[waits_for as keyof typeof GATE_LABELS]
  return (
    <Panel title="Awaiting approval" note={words}>
      <HeldUntil migration={migration} />
      <DeedButton migration={migration} deed="advance" reason={readOnly ?? refusalOf(migration, 'advance')}>
        {waits_for === 'COMMITTED' ? 'Commit migration' : 'Continue migration'}
      </DeedButton>
    </Panel>
  )
}

const DELIVERS_NOTHING = ['APPLYING', 'READY_TO_CUT_OVER']

function HeldUntil({ migration }: { migration: MigrationDetail }) {
  const now = useNow()
  const held = migration.steps.find(({ held_until }) => held_until !== null)
  if (!held?.held_until) return null
  const left = Math.max(0, Date.parse(held.held_until) - now)
  return (
    <p className="dim">
      {DELIVERS_NOTHING.includes(held.stage) && 'Nothing is delivered until then. '}
      Rolls back in {duration(left)} unless you continue it.
    </p>
  )
}

function Stuck({ migration, readOnly, page }: StepProps & { page: WizardStep }) {
  if (migration.stage !== 'NEEDS_ATTENTION' || currentStep(migration) !== page) return null
  return (
    <Panel title="Action required" note="Retry, roll back or close the migration">
      <DeedButton migration={migration} deed="advance" reason={readOnly ?? refusalOf(migration, 'advance')}>
        Retry failed step
      </DeedButton>
    </Panel>
  )
}
