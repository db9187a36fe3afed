import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ChangeKind } from '@/api/types'
import { ErrorNote } from '@/components/ui/Feedback'
import { governed } from '@/domain/changes'
import { GovernedDialog } from './GovernedDialog'

interface ChangeErrorProps {
  error: unknown
  name: string
  kind: ChangeKind
  arguments: Record<string, unknown>
}

/** Why a change was not made; where approvals or a freeze govern it, with the way to other users. */
export function ChangeError({ error, ...change }: ChangeErrorProps) {
  const [asking, setAsking] = useState(false)
  const refusal = governed(error)
  return (
    <>
      <ErrorNote error={error} />
      {refusal && (
        <Button variant="default" onClick={() => setAsking(true)}>
          Request this change…
        </Button>
      )}
      {refusal && asking && <GovernedDialog {...change} refusal={refusal} onClose={() => setAsking(false)} />}
    </>
  )
}
