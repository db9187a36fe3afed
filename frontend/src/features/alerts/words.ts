import type { AlertDelivery } from '@/api/types'
import { RECEIVER_KINDS } from '@/domain/severities'

const ABOUT: Record<string, string> = {
  'alert.opened': 'firing',
  'alert.acknowledged': 'acknowledged',
  'alert.resolved': 'resolved',
}

const OUTCOMES: Record<AlertDelivery['state'], string> = {
  WAITING: 'waiting',
  SENDING: 'sending',
  DELIVERED: 'delivered',
  FAILED: 'failed',
  SUPPRESSED: 'suppressed',
}

/** "firing delivered (200)" */
export function outcome({ about, state, response_status: status }: AlertDelivery): string {
  const words = `${ABOUT[about] ?? about} ${OUTCOMES[state]}`
  return status === null || state === 'SUPPRESSED' ? words : `${words} (${status})`
}

/** The name of a receiver among others of its kind. */
export function receiverWords({ receiver, receiver_kind: kind, receiver_name: name }: AlertDelivery): string {
  return name === kind ? `${RECEIVER_KINDS[kind]} ${receiver}` : name
}
