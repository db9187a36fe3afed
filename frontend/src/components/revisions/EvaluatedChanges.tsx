import type { EvaluatedChange } from '@/api/types'
import { ConsequenceBadge } from '@/components/migrations/ConsequenceBadge'
import { ChangeTable } from './ChangeTable'

/** Each key that differs from the current definition, with what that means for the pipeline. */
export function EvaluatedChanges({ changes }: { changes: EvaluatedChange[] }) {
  return (
    <ChangeTable
      label="What changes"
      changes={changes.map(({ change, consequence, reason }) => ({
        change,
        beside: (
          <>
            <ConsequenceBadge consequence={consequence} />
            <div className="dim">{reason}</div>
          </>
        ),
      }))}
      before="Current"
      after="New"
      beside="Consequence"
    />
  )
}
