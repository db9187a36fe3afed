import { useMutation } from '@tanstack/react-query'
import { requestPeek } from '@/api/peeks'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { Peeked } from '../records/Peeked'
import classes from './topology.module.css'

const SHOWN = 10

/** What an interceptor or a selector takes out of the newest records of its source, as they came to it. */
export function Sample({ name, path }: { name: string; path: string }) {
  const readOnly = useReadOnly(name)
  const request = useMutation({ mutationFn: () => requestPeek(name, { of: path, limit: SHOWN }) })
  return (
    <section aria-label="Sample of what it takes out" className={classes.sample}>
      <p>
        The newest 1,000 records of the source run through the present revision. Those that end here are
        shown, with the reason. Nothing is delivered.
      </p>
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
