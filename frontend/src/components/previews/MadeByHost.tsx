import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ended } from '@/api/previews'
import type { HostTaskError } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { FindingList } from '@/components/ui/Findings'

interface MadeByHostProps<T> {
  query: UseQueryResult<T>
  /** What is said while the host is at work. */
  running: string
  children: (made: T) => ReactNode
}

/** What a host was asked for: waited for, and shown once it is made. */
export function MadeByHost<T extends { state: string; error: HostTaskError | null }>({
  query: { data, error, refetch },
  running,
  children,
}: MadeByHostProps<T>) {
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data || !ended(data.state)) {
    return <Working words={data?.state === 'RUNNING' ? running : 'Waiting for the host'} />
  }
  return data.error ? <NotMade error={data.error} /> : children(data)
}

/** What is being done, in words, in the place of what will be there. */
export function Working({ words }: { words: string }) {
  return (
    <>
      <p className="dim" aria-hidden>
        {words} …
      </p>
      <Loading label={words} />
    </>
  )
}

/** Why a host could not make what it was asked for. */
export function NotMade({ error: { message, hint, findings } }: { error: HostTaskError }) {
  return (
    <div role="alert">
      <strong>{message}</strong>
      {hint && <p>{hint}</p>}
      {findings && findings.length > 0 && <FindingList findings={findings} />}
    </div>
  )
}
