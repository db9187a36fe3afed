import { SegmentedControl, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { requestTrace, traceQuery } from '@/api/traces'
import type { TraceRequest } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { MadeByHost } from '@/components/previews/MadeByHost'
import { Empty, ErrorNote } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useNoRights } from '@/components/teams/useReadOnly'
import { type By, questionOf, traceCall, WAYS } from './question'
import { TraceOutcome } from './TraceOutcome'
import classes from './trace.module.css'

const route = getRouteApi('/pipelines/$name/trace')

/** Where one record went. */
export function TraceTab() {
  const { name } = route.useParams()
  const { at } = route.useSearch()
  return <TraceForm key={`${name} ${at ?? ''}`} name={name} at={at ?? ''} />
}

export function TraceForm({ name, at }: { name: string; at: string }) {
  const [by, setBy] = useState<By>('at')
  const [value, setValue] = useState(at)
  const readOnly = useNoRights(name)
  const request = useMutation({ mutationFn: (body: TraceRequest) => requestTrace(name, body) })
  const id = request.data?.id
  const question = questionOf(by, value)
  const wrong = typeof question === 'string' ? question : null
  const follow = (place: string) => {
    setBy('at')
    setValue(place)
    const next = questionOf('at', place)
    if (typeof next !== 'string') request.mutate(next)
  }
  return (
    <Panel title="Trace a record" note="Reads beside the pipeline. Commits and delivers nothing.">
      <div className={classes.form}>
        <SegmentedControl
          aria-label="Find the record by"
          data={Object.entries(WAYS).map(([way, { label }]) => ({ value: way, label }))}
          value={by}
          onChange={(next) => setBy(next as By)}
        />
        <TextInput
          label={WAYS[by].field}
          placeholder={WAYS[by].placeholder}
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
        <ReasonButton
          variant="default"
          reason={readOnly ?? wrong}
          loading={request.isPending}
          onClick={() => typeof question !== 'string' && request.mutate(question)}
        >
          Trace record
        </ReasonButton>
      </div>
      {request.error && <ErrorNote error={request.error} />}
      {id ? (
        <Made key={id} name={name} id={id} onFollow={follow} />
      ) : (
        !request.error && (
          <Empty title="No trace yet">
            You see which batch had the record, what each component did to it, and what became of it.
          </Empty>
        )
      )}
      {typeof question !== 'string' && <ShowCall call={traceCall(name, question)} subject="Trace" />}
    </Panel>
  )
}

interface MadeProps {
  name: string
  id: string
  onFollow: (place: string) => void
}

function Made({ name, id, onFollow }: MadeProps) {
  return (
    <MadeByHost query={useQuery(traceQuery(name, id))} running="Reading the record">
      {(made) =>
        made.result && <TraceOutcome name={name} trace={made} result={made.result} onFollow={onFollow} />
      }
    </MadeByHost>
  )
}
