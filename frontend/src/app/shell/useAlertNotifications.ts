import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { openAlertsQuery } from '@/api/alerts'
import icon from '@/assets/icon.svg'
import { markVisible, notesOf, permission, useNotifiedSeverities } from '@/lib/notifications'

const POLL_MS = 15_000

/** Notifies of new alerts while this tab is open and not looked at, where the user has asked for it. */
export function useAlertNotifications(): void {
  const severities = useNotifiedSeverities()
  const wanted = severities.length > 0 && permission() === 'granted'
  const navigate = useNavigate()
  const { data, dataUpdatedAt } = useQuery({
    ...openAlertsQuery,
    enabled: wanted,
    refetchInterval: POLL_MS,
    refetchIntervalInBackground: true,
  })
  useEffect(() => (wanted ? markVisible() : undefined), [wanted])
  useEffect(() => {
    if (!wanted || !data) return
    void notesOf(data, severities).then((notes) => {
      for (const { title, body, tag } of notes) {
        const shown = new Notification(title, { body, tag, icon })
        shown.addEventListener('click', () => {
          window.focus()
          void navigate({ to: '/alerts' })
          shown.close()
        })
      }
    })
  }, [wanted, data, dataUpdatedAt, severities, navigate])
}
