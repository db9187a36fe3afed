import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { planQuery } from '@/api/positions'
import type { PositionPlan } from '@/api/types'

/** Long enough for the next key, short enough to count while you look. */
const PAUSE_MS = 400

/** What the server has counted of a target; a result is never that of another target, nor of other positions. */
export type Count =
  | { state: 'none' }
  | { state: 'counting' }
  | { state: 'failed'; error: Error; retry: () => void }
  | { state: 'silent'; retry: () => void }
  | { state: 'counted'; plan: PositionPlan; at: number; retry: () => void }

/** Counts a target as it is chosen. `basis`: what the count depends on besides; where it changes, it is counted anew. */
export function useCount(name: string, target: string | null, source: string | null, basis: string): Count {
  const wanted = JSON.stringify([target, source, basis])
  const [settled] = useDebouncedValue(wanted, PAUSE_MS)
  const current = target !== null && settled === wanted
  const { data, error, isFetching, dataUpdatedAt, refetch } = useQuery({
    ...planQuery(name, target ?? '', source, basis),
    enabled: current,
  })
  const retry = () => void refetch()
  if (target === null) return { state: 'none' }
  if (!current || isFetching) return { state: 'counting' }
  if (error) return { state: 'failed', error, retry }
  if (!data) return { state: 'counting' }
  if (data.state === 'PENDING') return { state: 'silent', retry }
  return { state: 'counted', plan: data, at: dataUpdatedAt, retry }
}
