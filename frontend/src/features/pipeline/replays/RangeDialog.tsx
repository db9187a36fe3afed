import { Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { planRangeReplay, replayRange } from '@/api/rangeReplays'
import type { Positions, RangePlan, ReplayRange } from '@/api/types'
import { ConfirmByName } from '@/components/actions/ConfirmByName'
import { ShowCall } from '@/components/actions/ShowCall'
import { ChangeError } from '@/components/governance/ChangeError'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { ReasonField } from '@/components/ui/ReasonField'
import { rangeReplayCall } from '@/domain/calls'
import { count, plural } from '@/lib/format'
import { partitionOf } from '../positions/words'
import { rangeInWords } from './words'
import classes from './replays.module.css'

type Partition = Positions['partitions'][number]

interface RangeDialogProps {
  name: string
  partitions: Partition[]
  onClose: () => void
}

/** Names a range, shows what reading it again would do, and has exactly that done. */
export function RangeDialog({ name, partitions, onClose }: RangeDialogProps) {
  const client = useQueryClient()
  const [wanted, setWanted] = useState<ReplayRange | null>(null)
  const [reason, setReason] = useState('')
  const plan = useMutation({ mutationFn: (range: ReplayRange) => planRangeReplay(name, range) })
  const replay = useMutation({
    mutationFn: ({ range, hash }: { range: ReplayRange; hash: string }) =>
      replayRange(name, range, hash, reason),
    onSuccess: (operation) => {
      client.setQueryData(keys.operation(name), operation)
      announce('Replaying a range.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(name) }),
  })
  const ask = (range: ReplayRange) => {
    setWanted(range)
    replay.reset()
    plan.mutate(range)
  }
  const change = () => {
    setWanted(null)
    plan.reset()
  }
  const ready = plan.data && wanted
  return (
    <Modal opened onClose={onClose} title={`Replay a range of ${name}`} size="lg">
      <Stack gap="md">
        <RangeForm partitions={partitions} pending={plan.isPending} onChange={change} onPlan={ask} />
        {plan.error && <ErrorNote error={plan.error} />}
        {ready && (
          <>
            <Consequences plan={plan.data} />
            <ReasonField description="Stays in the audit log" value={reason} onChange={setReason} />
            {replay.error && (
              <ChangeError
                error={replay.error}
                name={name}
                kind="replay"
                arguments={{ ...wanted, hash: plan.data.hash, reason }}
              />
            )}
            <ShowCall call={rangeReplayCall(name, wanted, plan.data.hash, reason)} subject="Replay range" />
            <ConfirmByName
              name={name}
              keep="Cancel"
              act="Replay range"
              pending={replay.isPending}
              onAct={() => replay.mutate({ range: wanted, hash: plan.data.hash })}
              onClose={onClose}
            />
          </>
        )}
      </Stack>
    </Modal>
  )
}

interface FormProps {
  partitions: Partition[]
  pending: boolean
  /** What was planned is not what stands in the form any more. */
  onChange: () => void
  onPlan: (range: ReplayRange) => void
}

function RangeForm({ partitions, pending, onChange, onPlan }: FormProps) {
  const [chosen, setChosen] = useState(partitions[0] ? partitionOf(partitions[0]) : null)
  const [start, setStart] = useState('')
  const [end, setEnd] = useState('')
  const partition = partitions.find((each) => partitionOf(each) === chosen)
  const range = rangeOf(partition, start, end)
  const edit = (set: (value: string) => void) => (value: string) => {
    set(value)
    onChange()
  }
  return (
    <Stack
      gap="md"
      component="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (range) onPlan(range)
      }}
    >
      <Select
        label="Partition"
        description={partition?.ledger == null ? undefined : `Read up to ${count(partition.ledger)}`}
        data={partitions.map((each) => ({
          value: partitionOf(each),
          label: `${each.topic}/${each.partition}: ${each.source} → ${each.channel}`,
        }))}
        value={chosen}
        allowDeselect={false}
        searchable={partitions.length > 10}
        onChange={(value) => {
          setChosen(value)
          onChange()
        }}
      />
      <div className={classes.range}>
        <Offset label="From offset" description="First offset" value={start} onChange={edit(setStart)} />
        <Offset label="To offset" description="Exclusive" value={end} onChange={edit(setEnd)} />
      </div>
      <ReasonButton
        type="submit"
        variant="default"
        style={{ alignSelf: 'flex-end' }}
        loading={pending}
        reason={range ? null : 'Enter two offsets, the second one larger.'}
      >
        Plan replay
      </ReasonButton>
    </Stack>
  )
}

interface OffsetProps {
  label: string
  description: string
  value: string
  onChange: (value: string) => void
}

/** Text and no number field: a step up or down means nothing, and thousands may be grouped. */
function Offset({ label, description, value, onChange }: OffsetProps) {
  return (
    <TextInput
      label={label}
      description={description}
      inputMode="numeric"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
    />
  )
}

function rangeOf(partition: Partition | undefined, from: string, to: string): ReplayRange | null {
  const [start, end] = [offsetIn(from), offsetIn(to)]
  if (!partition || start === null || end === null || end <= start) return null
  const { source, channel, topic, partition: number } = partition
  return { source, channel, topic, partition: number, start, end }
}

/** Thousands may be grouped, as the page itself writes them. */
function offsetIn(text: string): number | null {
  const digits = text.replaceAll(/[\s,]/g, '')
  return /^\d{1,15}$/.test(digits) ? Number(digits) : null
}

function Consequences({ plan }: { plan: RangePlan }) {
  return (
    <>
      <Text size="sm">
        At most {plural(plan.offsets, 'record')} of {rangeInWords(plan)} are reread, through all interceptors,
        into {plan.channel}, in {plural(plan.batches, 'batch', 'batches')}. {plan.source} continues at{' '}
        {count(plan.read_up_to)} in parallel. No position changes.
      </Text>
      <Table
        label="Effect on each sink"
        head={
          <>
            <th>Sink</th>
            <th className="num">Possible duplicates</th>
            <th>Effect of duplicates</th>
          </>
        }
      >
        {plan.sinks.map((sink) => (
          <tr key={sink.sink}>
            <th scope="row">
              {sink.sink} <span className="dim">({sink.type})</span>
            </th>
            <td className="num">{count(sink.duplicates_max)}</td>
            <td>{sink.effect}</td>
          </tr>
        ))}
      </Table>
    </>
  )
}
