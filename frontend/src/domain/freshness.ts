import type { Pipeline } from '@/api/types'
import { reportsFigures } from './phases'

/** A figure older than this is marked, never shown as if it were current. */
export const STALE_AFTER_MS = 5_000
/** The same where nothing moves: what an agent reports is stored every second while it changes, and else every ten seconds
 * (`QUIET_STATUS_INTERVAL` of the supervisor). */
const QUIET_STALE_AFTER_MS = 15_000

/** After how many milliseconds what an agent reports is old, by its rate in records per second. */
export const staleAfter = (rate: number | null) => (rate ? STALE_AFTER_MS : QUIET_STALE_AFTER_MS)

export interface Freshness {
  stale: boolean
  ageMs: number | null
}

/** Whether the figures of a pipeline are current. One without an agent has no figures that could grow old. */
export function freshness(pipeline: Pick<Pipeline, 'phase' | 'live'>, now: number): Freshness {
  const asOf = pipeline.live.as_of
  if (!asOf) return { stale: false, ageMs: null }
  const ageMs = Math.max(0, now - Date.parse(asOf))
  const old = ageMs > staleAfter(pipeline.live.records_per_second)
  return { stale: pipeline.live.stale || (old && mayReport(pipeline.phase)), ageMs }
}

/** The same for figures that the page itself has not read for a while; null where it has. */
export function older(fresh: Freshness, unreadMs: number | null): Freshness {
  return unreadMs === null ? fresh : { stale: true, ageMs: Math.max(unreadMs, fresh.ageMs ?? 0) }
}

function mayReport(phase: Pipeline['phase']): boolean {
  return reportsFigures(phase) || phase === 'UNKNOWN'
}
