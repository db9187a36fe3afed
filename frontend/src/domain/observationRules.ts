import type { ObservationRules } from '@/api/types'

/** What the server takes where nothing is said. */
export const DEFAULT_RULES: ObservationRules = {
  window: 60,
  then: 'commit',
  otherwise: 'roll_back',
  band: 0.5,
  dead_letters: 0,
  lag_slack: 1_000,
  crashes: 1,
  outcome_band: 0.5,
}

/** Those that differ from what the server takes anyway. */
export const changedRules = (rules: ObservationRules): Partial<ObservationRules> =>
  Object.fromEntries(
    Object.entries(rules).filter(([name, value]) => DEFAULT_RULES[name as keyof ObservationRules] !== value),
  )
