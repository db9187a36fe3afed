import { IconAlertTriangle, IconCheck, IconClockExclamation } from '@tabler/icons-react'
import type { Pipeline } from '@/api/types'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { PHASES } from '@/domain/phases'
import { plural } from '@/lib/format'
import { useIsCurrent } from '@/lib/live/LiveProvider'
import { needingAttention } from './attention'

/** What was observed to be bad, and is not just unknown. */
const isSeenBad = ({ phase, supervised }: Pipeline) =>
  supervised && phase !== 'UNKNOWN' && PHASES[phase].tone === 'bad'

/** Whether everything is well, as far as is known now. */
export function Verdict({ pipelines }: { pipelines: Pipeline[] }) {
  const current = useIsCurrent()
  const urgent = needingAttention(pipelines)
  if (!current) {
    return (
      <ToneBadge tone="warn" icon={IconClockExclamation}>
        Not current
      </ToneBadge>
    )
  }
  return urgent.length > 0 ? (
    <ToneBadge tone={urgent.some(isSeenBad) ? 'bad' : 'warn'} icon={IconAlertTriangle}>
      {plural(urgent.length, 'pipeline requires', 'pipelines require')} action
    </ToneBadge>
  ) : (
    <ToneBadge tone="ok" icon={IconCheck}>
      No pipeline requires action
    </ToneBadge>
  )
}
