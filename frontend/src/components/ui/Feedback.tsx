import { Button, Skeleton, Stack } from '@mantine/core'
import { IconAlertCircle, IconRefresh } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { explain, Problem } from '@/api/problem'
import { useShows } from '@/lib/shownErrors'
import classes from './feedback.module.css'

interface ErrorNoteProps {
  error: unknown
  onRetry?: () => void
  /** What failed, where the place does not say it. */
  title?: string
}

/** What went wrong, what to do next, and a way to try again. */
export function ErrorNote({ error, onRetry, title }: ErrorNoteProps) {
  const { text, hint, requestId } = explain(error)
  useShows(error)
  const again = useAgain(error)
  const retry = onRetry ?? again
  return (
    <div className={classes.error} role="alert" data-tone="bad">
      <IconAlertCircle size={18} aria-hidden />
      <div className={classes.words}>
        <strong>
          {title} {text}
        </strong>
        {hint && <div>{hint}</div>}
        {requestId && <div className={classes.request}>Request {requestId}</div>}
      </div>
      {retry && (
        <Button variant="default" leftSection={<IconRefresh size={14} aria-hidden />} onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Requests the same change once more, where the database was away and nothing was changed. */
function useAgain(error: unknown): (() => void) | undefined {
  const cache = useQueryClient().getMutationCache()
  if (!(error instanceof Problem) || !error.databaseAway) return undefined
  const failed = cache.find({ predicate: ({ state }) => state.error === error })
  return failed && (() => void failed.execute(failed.state.variables).catch(() => {}))
}

interface Reading {
  data: unknown
  error: unknown
  isEnabled: boolean
  refetch: () => unknown
}

/** In place of what a query reads, as long as there is nothing of it: that it loads, or why it failed. */
export function Unread({ query, what }: { query: Reading; what: string }) {
  const { data, error, isEnabled, refetch } = query
  if (data !== undefined || !isEnabled) return null
  if (!error) return <Loading rows={1} label={`Loading ${what}`} />
  return <ErrorNote error={error} title={`The ${what} could not be read.`} onRetry={() => void refetch()} />
}

export function Loading({ rows = 4, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <Stack gap={8} p={14} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={14} width={`${92 - row * 11}%`} />
      ))}
    </Stack>
  )
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty} data-empty>
      <p className={classes.emptyTitle}>{title}</p>
      {children && <div className={classes.emptyText}>{children}</div>}
    </div>
  )
}
