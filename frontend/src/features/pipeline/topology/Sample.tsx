import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { requestPeek } from '@/api/peeks'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useNoRights } from '@/components/teams/useReadOnly'
import { Peeked } from '../records/Peeked'
import classes from './topology.module.css'

const SHOWN = 10

interface SampleProps {
  name: string
  path: string
  /** What is shown, as a heading for screen readers and in whole sentences. */
  label: string
  children: ReactNode
}

/** Records of one component, read when the user asks for them. */
export function Sample({ name, path, label, children }: SampleProps) {
  const readOnly = useNoRights(name)
  const request = useMutation({ mutationFn: () => requestPeek(name, { of: path, limit: SHOWN }) })
  return (
    <section aria-label={label} className={classes.sample}>
      <p>{children}</p>
      <ReasonButton
        variant="default"
        size="xs"
        reason={readOnly}
        loading={request.isPending}
        onClick={() => request.mutate()}
      >
        Show a sample
      </ReasonButton>
      {request.error && <ErrorNote error={request.error} />}
      {request.data && <Peeked key={request.data.id} name={name} id={request.data.id} />}
    </section>
  )
}
