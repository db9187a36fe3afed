import type { Action, Pipeline } from '@/api/types'

const NOT_OFFERED = 'This action is not available now.'

/** Why an action may not be taken on a pipeline now; null when it may. The server decides, the page only repeats. */
export function refusal(pipeline: Pick<Pipeline, 'allowed_actions'>, action: Action): string | null {
  const known = pipeline.allowed_actions.find(({ name }) => name === action)
  if (known?.allowed) return null
  return known?.reason || NOT_OFFERED
}
