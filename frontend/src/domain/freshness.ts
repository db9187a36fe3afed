import type { Pipeline } from '@/api/types'
import { reportsFigures } from './phases'

/** A figure older than this is marked, never shown as if it were current. */
export const STALE_AFTER_MS = 5_000

export interface Freshness {
  stale: boolean
  ageMs: number | null
}

/** Whether the figures of a pipeline are current. One without an agent has no figures that could grow old. */
export function freshness(pipeline: Pick<Pipeline, 'phase' | 'live'>, now: number): Freshness {
  const asOf = pipeline.live.as_of
  if (!asOf) return { stale: false, ageMs: null }
  const ageMs = Math.max(0, now - Date.parse(asOf))
  return { stale: pipeline.live.stale || (ageMs > STALE_AFTER_MS && mayReport(pipeline.phase)), ageMs }
}

/** The same for figures that the page itself has not read for a while; null where it has. */
export function older(fresh: Freshness, unreadMs: number | null): Freshness {
  return unreadMs === null ? fresh : { stale: true, ageMs: Math.max(unreadMs, fresh.ageMs ?? 0) }
}

function mayReport(phase: Pipeline['phase']): boolean {
  return reportsFigures(phase) || phase === 'UNKNOWN'
}
