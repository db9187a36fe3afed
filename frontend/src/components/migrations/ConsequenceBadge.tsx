import { IconFlame, IconGitBranch, IconMapPin, IconRefresh, type Icon } from '@tabler/icons-react'
import type { Consequence } from '@/api/types'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { CONSEQUENCES } from '@/domain/migrations'

const ICONS: Record<Consequence, Icon> = {
  hot: IconFlame,
  restart: IconRefresh,
  new_lineage: IconGitBranch,
  position_decision: IconMapPin,
}

/** What a difference means for what runs. */
export function ConsequenceBadge({ consequence }: { consequence: Consequence }) {
  const { label, tone, meaning } = CONSEQUENCES[consequence]
  return (
    <ToneBadge tone={tone} icon={ICONS[consequence]} title={meaning}>
      {label}
    </ToneBadge>
  )
}
