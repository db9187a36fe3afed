import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { ToneBadge } from '@/components/ui/ToneBadge'

export function Verdict({ balanced }: { balanced: boolean }) {
  return balanced ? (
    <ToneBadge tone="ok" icon={IconCheck}>
      Balanced
    </ToneBadge>
  ) : (
    <ToneBadge tone="bad" icon={IconAlertTriangle}>
      Unbalanced
    </ToneBadge>
  )
}
