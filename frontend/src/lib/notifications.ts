import type { Alert, Severity } from '@/api/types'
import { parsed, stored, useStored } from './stored'

/** Of which severities the browser notifies; none until the user asks for it. */
const chosen = stored<Severity[]>(
  'headgate.notify',
  (text) => {
    const found = parsed(text)
    return Array.isArray(found) ? found.filter(isSeverity) : []
  },
  JSON.stringify,
)

const isSeverity = (value: unknown): value is Severity =>
  value === 'critical' || value === 'warning' || value === 'info'

export const useNotifiedSeverities = (): Severity[] => useStored(chosen)

/** Adds a severity, or leaves it out. */
export const setNotified = (severity: Severity, wanted: boolean): void =>
  chosen.update((old) => [...old.filter((each) => each !== severity), ...(wanted ? [severity] : [])])

export type Permission = NotificationPermission | 'unsupported'

/** Whether the browser shows notifications of this page. Web Locks keep several tabs from showing one twice. */
export function permission(): Permission {
  return 'Notification' in window && 'locks' in navigator ? Notification.permission : 'unsupported'
}

/** The number of the newest alert of which some tab of this browser has notified, or that a visible one has shown. */
const seen = stored<number | null>(
  'headgate.notified',
  (text) => (text !== null && Number.isInteger(Number(text)) ? Number(text) : null),
  String,
)

/** More new alerts than this are one notification. */
const MOST = 3

export interface Note {
  tag: string
  title: string
  body: string
}

const VISIBLE = 'headgate.visible'

/** Holds a lock while this tab is visible, so that the others know; returns how to end that. */
export function markVisible(): () => void {
  let leaving = new AbortController()
  const follow = () => {
    leaving.abort()
    leaving = new AbortController()
    if (document.visibilityState === 'visible') void hold(leaving.signal)
  }
  follow()
  document.addEventListener('visibilitychange', follow)
  return () => {
    document.removeEventListener('visibilitychange', follow)
    leaving.abort()
  }
}

async function hold(signal: AbortSignal): Promise<void> {
  const left = () => new Promise((resolve) => signal.addEventListener('abort', resolve))
  try {
    await navigator.locks.request(VISIBLE, { mode: 'shared', signal }, left)
  } catch {
    // It was left before it had the lock.
  }
}

/** What to notify of, once for all tabs: new alerts since the last time that any of them asked. While one of them is
 *  visible its user sees them, and nothing is shown. */
export async function notesOf(open: Alert[], severities: Severity[]): Promise<Note[]> {
  const { held = [] } = await navigator.locks.query()
  const visible = held.some(({ name }) => name === VISIBLE)
  let fresh: Alert[] = []
  await navigator.locks.request('headgate.notify', () => {
    const newest = Math.max(0, ...open.map(({ id }) => id))
    seen.update((before) => {
      fresh = before === null || visible ? [] : open.filter(({ id }) => id > before)
      return Math.max(before ?? 0, newest)
    })
  })
  return notes(fresh.filter(({ severity, silence }) => severities.includes(severity) && silence === null))
}

function notes(fresh: Alert[]): Note[] {
  if (fresh.length > MOST) {
    const body = fresh.map(subject).slice(0, MOST).join(', ')
    return [
      { tag: `headgate-alerts-${fresh[0]?.id}`, title: `${fresh.length} new alerts`, body: `${body}, …` },
    ]
  }
  return fresh.map((alert) => ({
    tag: `headgate-alert-${alert.id}`,
    title: `${subject(alert)}: ${alert.rule.replaceAll('_', ' ')}`,
    body: alert.message,
  }))
}

const subject = ({ pipeline, key }: Alert) => pipeline ?? key
