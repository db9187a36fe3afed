import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { pipelinesQuery } from '@/api/pipelines'
import { freshness } from '@/domain/freshness'
import { useAtTime } from '@/lib/clock'
import { SAFETY_NET_LIST_MS, usePollInterval } from '@/lib/live/LiveProvider'
import { REREAD_LIST_MS, useRereadWhile } from '@/lib/live/useRereadWhile'

/** Every pipeline, kept current. A thousand are drawn in slices, between which the page answers clicks and keys. */
export function usePipelines() {
  const { data, error, refetch } = useQuery({
    ...pipelinesQuery,
    refetchInterval: usePollInterval(SAFETY_NET_LIST_MS),
  })
  useRereadWhile(
    useAtTime((now) => data?.some((each) => freshness(each, now).stale) ?? false),
    [pipelinesQuery.queryKey],
    REREAD_LIST_MS,
  )
  return { pipelines: useDeferredValue(data), error, refetch }
}
