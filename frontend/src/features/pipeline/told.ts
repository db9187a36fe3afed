import type { Finding, Pipeline, PipelineStatus } from '@/api/types'

/** Whether the headline of a pipeline has this cause already; then it is not repeated below it. */
export function isTold(cause: string, { headline }: Pick<Pipeline, 'headline'>): boolean {
  return headline.includes(cause)
}

/** The findings that the headline does not tell. */
export function untold(status: Pick<PipelineStatus, 'headline' | 'findings'>): Finding[] {
  return status.findings.filter(({ message }) => !isTold(message, status))
}
