import { STALE_AFTER_MS } from '@/domain/freshness'
import type { ConnectionState } from './connection'

export type BadgeState = 'live' | 'connecting' | 'reconnecting' | 'stale'

/** What the badge says. Polling that works keeps a broken stream at "reconnecting"; silence makes it "stale". */
export function badgeState(state: ConnectionState, now: number): BadgeState {
  if (state.status === 'live') return 'live'
  const silentMs = state.heardAt === null ? 0 : now - state.heardAt
  if (silentMs > STALE_AFTER_MS) return 'stale'
  return state.status === 'connecting' ? 'connecting' : 'reconnecting'
}
