import {
  IconAlertTriangle,
  IconArrowBackUp,
  IconCamera,
  IconCheck,
  IconClipboardCheck,
  IconFileText,
  IconGitCompare,
  IconHandStop,
  IconPlayerPause,
  IconProgress,
  IconRubberStamp,
  IconShieldCheck,
  IconX,
  type Icon,
} from '@tabler/icons-react'
import type { MigrationStage } from '@/api/types'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { STAGES } from '@/domain/migrations'

const ICONS: Record<MigrationStage, Icon> = {
  DRAFT: IconHandStop,
  PLANNED: IconFileText,
  APPROVED: IconRubberStamp,
  PREFLIGHT: IconClipboardCheck,
  SHADOWING: IconGitCompare,
  PAUSING: IconPlayerPause,
  PAUSE_PROVEN: IconShieldCheck,
  SNAPSHOT: IconCamera,
  APPLYING: IconProgress,
  READY_TO_CUT_OVER: IconProgress,
  RESUMING: IconProgress,
  VERIFYING: IconProgress,
  COMMITTED: IconCheck,
  ROLLING_BACK: IconArrowBackUp,
  ROLLED_BACK: IconArrowBackUp,
  NEEDS_ATTENTION: IconAlertTriangle,
  ABORTED: IconX,
}

/** How far a migration has come: an icon and a word on a tone. */
export function StageBadge({ stage }: { stage: MigrationStage }) {
  const { label, tone, meaning } = STAGES[stage]
  return (
    <ToneBadge tone={tone} icon={ICONS[stage]} title={meaning}>
      {label}
    </ToneBadge>
  )
}
