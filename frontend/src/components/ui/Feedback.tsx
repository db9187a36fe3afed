import { Button, Skeleton, Stack } from '@mantine/core'
import { IconAlertCircle, IconRefresh } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { explain, Problem } from '@/api/problem'
import classes from './feedback.module.css'

/** What went wrong, what to do next, and a way to try again. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { text, hint, requestId } = explain(error)
  const again = useAgain(error)
  const retry = onRetry ?? again
  return (
    <div className={classes.error} role="alert" data-tone="bad">
      <IconAlertCircle size={18} aria-hidden />
      <div className={classes.words}>
        <strong>{text}</strong>
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
    <div className={classes.empty}>
      <p className={classes.emptyTitle}>{title}</p>
      {children && <div className={classes.emptyText}>{children}</div>}
    </div>
  )
}
