import { useQueryClient, type QueryKey } from '@tanstack/react-query'
import { useEffect } from 'react'
import { POLL_MS } from './LiveProvider'

/** Reads again what no frame renews: while an agent is silent, its state and the conditions are asked for. A read that
 * is still under way is left to end. */
export function useRereadWhile(silent: boolean, queryKeys: readonly QueryKey[]): void {
  const client = useQueryClient()
  const all = JSON.stringify(queryKeys)
  useEffect(() => {
    if (!silent) return
    const reread = () => {
      for (const queryKey of JSON.parse(all) as QueryKey[])
        void client.invalidateQueries({ queryKey }, { cancelRefetch: false })
    }
    const timer = setInterval(reread, POLL_MS)
    return () => clearInterval(timer)
  }, [client, silent, all])
}
