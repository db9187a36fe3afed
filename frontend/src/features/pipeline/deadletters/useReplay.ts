import { useMutation, useQueryClient } from '@tanstack/react-query'
import { retryDeadLetters } from '@/api/deadLetters'
import { keys } from '@/api/keys'
import type { ReplayRequest } from '@/api/types'
import { announce } from '@/components/ui/Announcer'

const NOTHING: ReplayRequest = { ids: null, filter: null, repair: null, rate: 100, reason: '' }

/** Asks for a replay; its operation is then on the page, step by step. */
export function useReplay(name: string, onDone: () => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (request: Partial<ReplayRequest>) => retryDeadLetters(name, { ...NOTHING, ...request }),
    onSuccess: (operation) => {
      client.setQueryData(keys.operation(name), operation)
      announce('Retrying dead letters.')
      onDone()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(name) }),
  })
}
