import { useQuery } from '@tanstack/react-query'
import { logOut as endSession, sessionQuery } from '@/api/session'

export function useSession() {
  const query = useQuery(sessionQuery)
  return { session: query.data, error: query.error, retry: query.refetch }
}

/** Leaves the page for another address. */
export const leave = (url: string) => window.location.assign(url)

/** Ends the session; the page is loaded anew, so that nothing of it stays in memory. */
export async function logOut(): Promise<void> {
  await endSession()
  window.location.reload()
}
