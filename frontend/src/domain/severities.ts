import { IconAlertTriangle, IconFlame, IconInfoCircle, type Icon } from '@tabler/icons-react'
import type { ReceiverKind, Severity } from '@/api/types'
import type { Tone } from './phases'

export const SEVERITIES: Record<Severity, { word: string; tone: Tone; icon: Icon }> = {
  critical: { word: 'Critical', tone: 'bad', icon: IconFlame },
  warning: { word: 'Warning', tone: 'warn', icon: IconAlertTriangle },
  info: { word: 'Info', tone: 'busy', icon: IconInfoCircle },
}

/** The kinds of receivers as people know them. */
export const RECEIVER_KINDS: Record<ReceiverKind, string> = {
  webhook: 'Webhook',
  slack: 'Slack',
  pagerduty: 'PagerDuty',
  email: 'Email',
}
