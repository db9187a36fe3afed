import { Problem } from '@/api/problem'
import type { Finding } from '@/api/types'

/** The findings of a request that was refused. */
export const findingsOf = (error: unknown): Finding[] => (error instanceof Problem ? error.findings : [])

/** Whether a finding is about exactly this, or about something in it. */
function isAt(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`)
}

/** The words at a field of a form: of each finding at one of its paths, or below. */
export function wordsAt(findings: Finding[], fields: readonly string[]): string | null {
  const words = findings
    .filter(({ path }) => fields.some((field) => isAt(path, field)))
    .map(({ message, suggestion }) => `${message} ${suggestion}`.trim())
  return words.length > 0 ? [...new Set(words)].join(' ') : null
}

/** The findings that no field shows. */
export function unplaced(findings: Finding[], fields: readonly string[]): Finding[] {
  return findings.filter(({ path }) => !fields.some((field) => isAt(path, field)))
}
