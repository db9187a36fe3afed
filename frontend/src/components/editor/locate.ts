import type { Finding } from '@/api/types'

export interface Place {
  /** Offsets in the text. */
  from: number
  to: number
}

/** Where a finding stands in a text: from its line and column to the end of the line; the first line when it names none. */
export function locate(text: string, { line, column }: Pick<Finding, 'line' | 'column'>): Place {
  const lines = text.split('\n')
  const index = Math.min(Math.max((line ?? 1) - 1, 0), lines.length - 1)
  const start = lines.slice(0, index).reduce((sum, each) => sum + each.length + 1, 0)
  const length = lines[index]?.length ?? 0
  return { from: start + Math.min(Math.max((column ?? 1) - 1, 0), length), to: start + length }
}
