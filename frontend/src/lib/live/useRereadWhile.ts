import { useQueryClient, type QueryKey } from '@tanstack/react-query'
import { useEffect } from 'react'
import { POLL_MS } from './LiveProvider'

/** Of a list, in which one silent agent among a thousand must not have all of them read every few seconds. */
export const REREAD_LIST_MS = 10_000

/** Reads again what no frame renews: while an agent is silent, its state and the conditions are asked for. A read that
 * is still under way is left to end. `every`: milliseconds between two reads. */
export function useRereadWhile(silent: boolean, queryKeys: readonly QueryKey[], every = POLL_MS): void {
  const client = useQueryClient()
  const all = JSON.stringify(queryKeys)
  useEffect(() => {
    if (!silent) return
    const reread = () => {
      for (const queryKey of JSON.parse(all) as QueryKey[])
        void client.invalidateQueries({ queryKey }, { cancelRefetch: false })
    }
    const timer = setInterval(reread, every)
    return () => clearInterval(timer)
  }, [client, silent, all, every])
}
