import { useQuery, useQueryClient } from '@tanstack/react-query'
import { IconLock } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { sessionQuery } from '@/api/session'
import { ReadOnlyOrigin } from '@/components/governance/ReadOnlyOrigin'
import classes from '@/components/ui/feedback.module.css'

const POLL_MS = 30_000

/** Says on every page that the installation is read-only: since when, by whom and why. Users of one team get no event of it, so
 * that the session is read again now and then. */
export function ReadOnlyBanner() {
  const { data: session } = useQuery({ ...sessionQuery, refetchInterval: POLL_MS })
  const mode = session?.read_only ?? null
  useFreshActions(mode?.etag ?? null)
  if (!mode) return null
  return (
    <div className={classes.banner} role="status" data-tone="held">
      <IconLock size={18} aria-hidden />
      <span>
        <strong>The installation is read-only</strong>
        <ReadOnlyOrigin mode={mode} /> Pipelines continue. You can stop and pause them, cancel and roll back.{' '}
        <Link to="/installation">Details</Link>
      </span>
    </div>
  )
}

/** What can be done with pipelines depends on the mode. */
function useFreshActions(etag: string | null) {
  const client = useQueryClient()
  const seen = useRef(etag)
  useEffect(() => {
    if (seen.current === etag) return
    seen.current = etag
    void client.invalidateQueries({ predicate: ({ queryKey }) => /^pipelines?$/.test(String(queryKey[0])) })
  }, [client, etag])
}
