import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { cancelOperation } from '@/api/operations'
import type { Operation } from '@/api/types'
import { useGovernedDialog } from '@/components/governance/useGovernedDialog'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { governed } from '@/domain/changes'
import { showRefusal } from './useAction'

interface CancelOperationProps {
  operation: Pick<Operation, 'id' | 'pipeline'>
  /** Why it cannot be cancelled; null where it can. */
  reason?: string | null
  /** For screen readers, where there are several buttons. */
  label?: string
}

/** Cancels an operation under way. */
export function CancelOperation({ operation: { id, pipeline }, reason = null, label }: CancelOperationProps) {
  const client = useQueryClient()
  const { ask, dialog } = useGovernedDialog(pipeline)
  const cancel = useMutation({
    mutationFn: () => cancelOperation(id),
    onError: (error) => {
      const refusal = governed(error)
      if (refusal) ask({ kind: 'cancel', arguments: { operation: id } }, refusal)
      else showRefusal('The operation cannot be cancelled', error)
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(pipeline) }),
  })
  return (
    <>
      <ReasonButton
        variant="default"
        size="compact-xs"
        reason={reason}
        aria-label={label}
        loading={cancel.isPending}
        onClick={() => cancel.mutate()}
      >
        Cancel
      </ReasonButton>
      {dialog}
    </>
  )
}
