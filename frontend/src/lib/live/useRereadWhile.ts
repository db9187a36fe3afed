import { useQueryClient, type QueryKey } from '@tanstack/react-query'
import { useEffect } from 'react'
import { POLL_MS } from './LiveProvider'

/** Reads again what no frame renews: while an agent is silent, its state and the conditions are asked for. */
export function useRereadWhile(silent: boolean, queryKey: QueryKey): void {
  const client = useQueryClient()
  const key = JSON.stringify(queryKey)
  useEffect(() => {
    if (!silent) return
    const timer = setInterval(() => void client.invalidateQueries({ queryKey: JSON.parse(key) }), POLL_MS)
    return () => clearInterval(timer)
  }, [client, silent, key])
}
