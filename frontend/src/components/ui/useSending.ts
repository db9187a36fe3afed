import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query'
import { announce } from './Announcer'

interface Sending<T> {
  send: () => Promise<T>
  /** What is read again, whatever came of it. */
  queryKey: QueryKey
  /** What is said when it is done. */
  done: (made: T) => string
  onClose: () => void
}

/** Sends what a dialog holds, then says so and closes it. */
export function useSending<T>({ send, queryKey, done, onClose }: Sending<T>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => send(),
    onSuccess: (made) => {
      announce(done(made))
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey }),
  })
}
