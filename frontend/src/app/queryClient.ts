import { QueryClient } from '@tanstack/react-query'
import { Problem } from '@/api/problem'

const MAX_RETRIES = 2

/** A refusal is an answer and is not asked for again; silence is. */
function retry(failures: number, error: Error): boolean {
  const refused = error instanceof Problem && error.status >= 400 && error.status < 500
  return !refused && failures < MAX_RETRIES
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry, staleTime: 2_000, refetchOnWindowFocus: true, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})
