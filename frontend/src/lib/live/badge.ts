import { STALE_AFTER_MS } from '@/domain/freshness'
import type { ConnectionState } from './connection'

export type BadgeState = 'live' | 'connecting' | 'reconnecting' | 'stale' | 'no-database'

/** An open stream on which nothing moves still carries a heartbeat every ten seconds. */
const MISSED_HEARTBEAT_MS = 12_000

/** What the badge says. Polling that works keeps a broken stream at "reconnecting"; silence makes it "stale". */
export function badgeState(state: ConnectionState, now: number): Exclude<BadgeState, 'no-database'> {
  const silentMs = state.lastMessageAt === null ? 0 : now - state.lastMessageAt
  if (state.status === 'live') return silentMs > MISSED_HEARTBEAT_MS ? 'stale' : 'live'
  if (silentMs > STALE_AFTER_MS) return 'stale'
  return state.status === 'connecting' ? 'connecting' : 'reconnecting'
}
