import {
  IconAlertTriangle,
  IconCheck,
  IconCircleX,
  IconHandStop,
  IconHelpCircle,
  IconPlayerPlayFilled,
  IconSkull,
  type Icon,
} from '@tabler/icons-react'
import type { Run } from '@/api/types'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { NONE } from '@/lib/format'

const LIVING: Record<Run['role'], string> = {
  ACTIVE: 'Running',
  STANDBY: 'Waits to take over; consumes nothing',
}

const STOP_STAGES: Record<string, string> = {
  DRAIN: 'Ended at a batch boundary',
  INTERRUPT: 'Ended by an interrupt',
  KILL: 'Killed',
}

/** Why it ended, or what it does. */
export function Cause({ run }: { run: Run }) {
  return (
    <>
      {run.exit_reason || (run.ended_at ? NONE : LIVING[run.role])}
      <HowItEnded run={run} />
    </>
  )
}

/** The stage that its stop escalated to, and what was busy then. */
function HowItEnded({ run: { stop_stage, stuck } }: { run: Run }) {
  const words = [STOP_STAGES[stop_stage], stuck.length > 0 && `busy: ${stuck.join(', ')}`].filter(Boolean)
  return words.length > 0 && <div className="dim">{words.join('; ')}</div>
}

type Outcome = NonNullable<Run['outcome']>

const OUTCOMES: Record<Outcome, { tone: Tone; icon: Icon; word: string }> = {
  CLEAN: { tone: 'ok', icon: IconCheck, word: 'Clean' },
  FAILED: { tone: 'bad', icon: IconCircleX, word: 'Failed' },
  BLOCKED: { tone: 'bad', icon: IconHandStop, word: 'Blocked' },
  CRASHED: { tone: 'bad', icon: IconAlertTriangle, word: 'Crashed' },
  KILLED: { tone: 'warn', icon: IconSkull, word: 'Killed' },
  LOST: { tone: 'bad', icon: IconHelpCircle, word: 'Lost' },
}

export function Outcome({ run }: { run: Run }) {
  if (!run.outcome) {
    return (
      <ToneBadge tone="busy" icon={IconPlayerPlayFilled}>
        {run.state === 'PENDING' ? 'Starting' : run.role === 'STANDBY' ? 'Standby' : 'Running'}
      </ToneBadge>
    )
  }
  const { tone, icon, word } = OUTCOMES[run.outcome]
  return (
    <ToneBadge tone={tone} icon={icon}>
      {word}
    </ToneBadge>
  )
}
