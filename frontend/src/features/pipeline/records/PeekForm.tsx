import { Select, SegmentedControl, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { requestPeek } from '@/api/peeks'
import type { PeekRequest } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty, ErrorNote } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useNoRights } from '@/components/teams/useReadOnly'
import { Peeked } from './Peeked'
import { peekCall, questionOf, type From, type Typed } from './question'
import type { Subject } from './subjects'
import classes from './records.module.css'

const STARTS: { value: From; label: string }[] = [
  { value: 'newest', label: 'Newest' },
  { value: 'offset', label: 'Offset' },
  { value: 'time', label: 'Time' },
]

interface PeekFormProps {
  name: string
  subjects: Subject[]
  of?: string
  topic?: string
  partition?: string
  offset?: string
}

/** Asks for records and shows them; nothing is read before the user asks. */
export function PeekForm({ name, subjects, of, topic = '', partition = '', offset }: PeekFormProps) {
  const first = subjects.find((each) => each.of === of) ?? subjects[0]!
  const [typed, setTyped] = useState<Typed>({
    ...{ of: first.of, topic, partition, key: '', contains: '', limit: '20' },
    ...(offset ? { from: 'offset', start: offset } : { from: 'newest', start: '' }),
  })
  const readOnly = useNoRights(name)
  const request = useMutation({ mutationFn: (body: PeekRequest) => requestPeek(name, body) })
  const set = (change: Partial<Typed>) => setTyped((before) => ({ ...before, ...change }))
  const subject = subjects.find((each) => each.of === typed.of) ?? first
  const question = questionOf(typed)
  const wrong = typeof question === 'string' ? question : missingTopic(subject, typed.topic)
  const move = (change: Partial<Typed>) => {
    const next = questionOf({ ...typed, ...change })
    set(change)
    if (typeof next !== 'string') request.mutate(next)
  }
  return (
    <Panel title="Records" note="Reads beside the pipeline. Joins no group and commits nothing. Audited.">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          if (!wrong && typeof question !== 'string') request.mutate(question)
        }}
      >
        <Select
          label="Read from"
          data={subjects.map((each) => ({ value: each.of, label: each.label }))}
          value={typed.of}
          allowDeselect={false}
          onChange={(value) => value && set({ of: value, topic: '' })}
        />
        <TopicField subject={subject} value={typed.topic} onChange={(value) => set({ topic: value })} />
        <Field
          label="Partition"
          placeholder="all"
          value={typed.partition}
          onChange={(value) => set({ partition: value })}
          narrow
        />
        <SegmentedControl
          aria-label="Start at"
          data={STARTS}
          value={typed.from}
          onChange={(value) => set({ from: value as From, start: '' })}
        />
        {typed.from !== 'newest' && (
          <Field
            label={typed.from === 'offset' ? 'From this offset on' : 'From this time on'}
            placeholder={typed.from === 'offset' ? '120394' : '2026-03-01T09:00:00Z'}
            value={typed.start}
            onChange={(value) => set({ start: value })}
          />
        )}
        <Field
          label="With text"
          placeholder="key, header or body"
          value={typed.contains}
          onChange={(value) => set({ contains: value })}
        />
        <Field
          label="With key"
          placeholder="o-4711"
          value={typed.key}
          onChange={(value) => set({ key: value })}
        />
        <Field
          label="Records"
          placeholder="20"
          value={typed.limit}
          onChange={(value) => set({ limit: value })}
          narrow
        />
        <ReasonButton type="submit" reason={readOnly ?? wrong} loading={request.isPending}>
          Show records
        </ReasonButton>
      </form>
      {request.error && <ErrorNote error={request.error} />}
      {request.data ? (
        <Peeked key={request.data.id} name={name} id={request.data.id} onMove={move} />
      ) : (
        !request.error && (
          <Empty title="No records read yet">
            You see keys, headers and bodies as they are in the topic, and why an offset has none.
          </Empty>
        )
      )}
      {typeof question !== 'string' && <ShowCall call={peekCall(name, question)} subject="Records" />}
    </Panel>
  )
}

const missingTopic = ({ topics, open }: Subject, topic: string): string | null =>
  topic === '' && (open || topics.length > 1) ? 'Name the topic.' : null

interface FieldProps {
  label: string
  placeholder?: string
  value: string
  onChange: (value: string) => void
  narrow?: boolean
}

function Field({ onChange, narrow, ...rest }: FieldProps) {
  return (
    <TextInput
      {...rest}
      className={narrow ? classes.narrow : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
    />
  )
}

/** The topic, where there are several. */
function TopicField({
  subject,
  value,
  onChange,
}: {
  subject: Subject
  value: string
  onChange: (value: string) => void
}) {
  if (subject.open) return <Field label="Topic" placeholder="shop.orders" value={value} onChange={onChange} />
  if (subject.topics.length < 2) return null
  return (
    <Select
      label="Topic"
      data={subject.topics}
      value={value || null}
      onChange={(topic) => onChange(topic ?? '')}
    />
  )
}
