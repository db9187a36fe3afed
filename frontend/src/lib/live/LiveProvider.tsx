import { useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react'
import { hooks } from '@/api/client'
import { serverNow, setServerTime, useNow } from '@/lib/clock'
import { useDatabaseAwaySince } from '@/api/database'
import { badgeState, type BadgeState } from './badge'
import { LiveConnection, type ConnectionState } from './connection'
import { LiveSync } from './sync'

const Context = createContext<LiveConnection | null>(null)

export const POLL_MS = 3_000
/** Even with a working stream the list is read now and then, so that a frame that never came cannot mislead for long. */
const SAFETY_NET_MS = 30_000
/** The same of every pipeline at once, which costs the server most. Changes of phase and alerts come as events, too. */
export const SAFETY_NET_LIST_MS = 60_000

/** Opens the tab's one stream while it is `active` (someone is logged in) and the tab is visible. */
export function LiveProvider({ active, children }: { active: boolean; children: ReactNode }) {
  const client = useQueryClient()
  const [connection] = useState(() => connectionFor(new LiveSync(client)))
  useEffect(() => {
    if (!active) return
    const follow = () => (document.visibilityState === 'hidden' ? connection.stop() : connection.start())
    hooks.onAnswer = () => connection.heard()
    document.addEventListener('visibilitychange', follow)
    follow()
    return () => {
      document.removeEventListener('visibilitychange', follow)
      hooks.onAnswer = () => {}
      connection.stop()
    }
  }, [active, connection])
  return <Context value={connection}>{children}</Context>
}

function connectionFor(sync: LiveSync): LiveConnection {
  return new LiveConnection({
    now: serverNow,
    handlers: { hello: setServerTime, live: sync.onLive, event: sync.onEvent, resumed: sync.refreshAll },
  })
}

const subscribeNothing = () => () => {}

function useConnectionStatus(connection: LiveConnection | null): ConnectionState['status'] {
  return useSyncExternalStore(
    connection?.subscribe ?? subscribeNothing,
    () => connection?.state.status ?? 'hidden',
  )
}

/** What the badge says, and of when the page is at least. A server without its database answers, and has no figures. */
export function useBadge(): { state: BadgeState; lastMessageAt: number | null } {
  const connection = useContext(Context)
  useConnectionStatus(connection)
  const now = useNow()
  const databaseAwaySince = useDatabaseAwaySince()
  const { status, lastMessageAt } = connection?.state ?? { status: 'hidden', lastMessageAt: null }
  const state = badgeState({ status, lastMessageAt }, now)
  if (state === 'stale' || databaseAwaySince === null) return { state, lastMessageAt }
  return { state: 'no-database', lastMessageAt: databaseAwaySince }
}

/** Whether what the page shows is current, as far as the server is concerned. */
export function useIsCurrent(): boolean {
  const { state } = useBadge()
  return state !== 'stale' && state !== 'no-database'
}

/** The page of this pipeline is open: its figures come with those of its queries. */
export function useWatched(pipeline: string): void {
  const connection = useContext(Context)
  useEffect(() => {
    connection?.watch(pipeline)
    return () => connection?.watch('')
  }, [connection, pipeline])
}

/** How often a query polls: rarely beside a working stream (`beside` milliseconds), often without one. */
export function usePollInterval(beside = SAFETY_NET_MS): number {
  const status = useConnectionStatus(useContext(Context))
  return status === 'live' ? beside : POLL_MS
}
