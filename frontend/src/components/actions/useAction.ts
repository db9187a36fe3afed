import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { act } from '@/api/operations'
import { explain, Unreachable, type Problem } from '@/api/problem'
import type { Operation, ActionKind, Pipeline, RestartBody, StopBody } from '@/api/types'
import type { Change } from '@/components/governance/useGovernedDialog'
import { announce } from '@/components/ui/Announcer'
import { governed } from '@/domain/changes'
import { ACTION_WORDS } from './words'

interface ActionRequest {
  kind: ActionKind
  /** How to stop or to restart. */
  body?: StopBody | RestartBody
}

/** Asks for an action on one pipeline. Nothing is shown as done before the server has said so. `onGoverned` gets what needs
    the word of other users; without it that is shown like any refusal. */
export function useAction(name: string, onGoverned?: (change: Change, refusal: Problem) => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ kind, body }: ActionRequest) => act(name, kind, body),
    onSuccess: (operation) => {
      noteOperation(client, operation)
      announce(`${ACTION_WORDS[operation.kind].doing} ${name}.`)
    },
    onError: (error, { kind, body }) => {
      const refusal = onGoverned && governed(error)
      if (refusal) onGoverned({ kind, arguments: { ...body } }, refusal)
      else showRefusal(`${ACTION_WORDS[kind].noun} of ${name} was rejected`, error)
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(name) }),
  })
}

/** Puts an accepted operation where the pages look for it. */
export function noteOperation(client: QueryClient, operation: Operation): void {
  const { id, kind, state, pipeline: name } = operation
  client.setQueryData(keys.operation(name), operation)
  client.setQueryData<Pipeline[]>(keys.pipelines, (list) =>
    list?.map((row) => (row.name === name ? { ...row, operation: { id, kind, state } } : row)),
  )
}

export function showRefusal(title: string, error: unknown): void {
  const { text, hint } = explain(error)
  notifications.show({
    color: 'red',
    title: error instanceof Unreachable ? 'No answer' : title,
    message: [text, hint].filter(Boolean).join(' '),
    autoClose: 12_000,
  })
}
