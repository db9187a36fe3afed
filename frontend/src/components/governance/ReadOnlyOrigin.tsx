import type { ReadOnlyMode } from '@/api/types'
import { Moment } from '@/components/ui/Time'

/** Since when the read-only mode is as it is, who set it and why: the rest of a sentence. */
export function ReadOnlyOrigin({ mode: { since, set_by, reason } }: { mode: ReadOnlyMode }) {
  return (
    <>
      {since && (
        <>
          {' '}
          since <Moment at={since} />
        </>
      )}
      , set by {set_by}: “{reason}”.
    </>
  )
}
