import { QueryClient } from '@tanstack/react-query'
import { Problem } from '@/api/problem'

const MAX_RETRIES = 2
const LONGEST_DELAY_MS = 15_000

/** A refusal is an answer and is not asked for again; silence is. A database that is away comes back. */
export function retry(failures: number, error: Error): boolean {
  if (error instanceof Problem && error.databaseAway) return true
  const refused = error instanceof Problem && error.status >= 400 && error.status < 500
  return !refused && failures < MAX_RETRIES
}

export const retryDelay = (failures: number): number => Math.min(1_000 * 2 ** failures, LONGEST_DELAY_MS)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry, retryDelay, staleTime: 2_000, refetchOnWindowFocus: true, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})
