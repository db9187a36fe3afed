import { useQuery } from '@tanstack/react-query'
import { logOut as endSession, sessionQuery } from '@/api/session'
import type { Session } from '@/api/types'
import { frozen } from '@/domain/readOnly'

export function useSession() {
  const query = useQuery(sessionQuery)
  return { session: query.data, error: query.error, retry: query.refetch }
}

/** Why nobody can change the installation now; null where users can. Reads what is known of the session, and asks for nothing. */
export const useFrozen = (): string | null => frozen(useQuery({ ...sessionQuery, enabled: false }).data)

/** Why the user may not do something now: by their roles (`cannot`), or since the installation is read-only; null where they may. */
export function useBarred(cannot: (session: Session | undefined) => string | null): string | null {
  const { session } = useSession()
  return cannot(session) ?? frozen(session)
}

/** Leaves the page for another address. */
export const leave = (url: string) => window.location.assign(url)

/** Ends the session; the page is loaded anew, so that nothing of it stays in memory. */
export async function logOut(): Promise<void> {
  await endSession()
  window.location.reload()
}
