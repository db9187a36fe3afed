import { Modal, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { Problem } from '@/api/problem'
import { putInQuarantine } from '@/api/quarantine'
import type { QuarantineRequest, Suspect } from '@/api/types'
import { ConfirmByName } from '@/components/actions/ConfirmByName'
import { ShowCall } from '@/components/actions/ShowCall'
import { ChangeError } from '@/components/governance/ChangeError'
import { Check } from '@/components/ui/Check'
import { FindingList } from '@/components/ui/Findings'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { useSending } from '@/components/ui/useSending'
import { ReasonField } from '@/components/ui/ReasonField'
import { quarantineCall } from '@/domain/calls'
import { count, plural } from '@/lib/format'
import { keyOf, offsetsOf, parseRange, plain, suspectInWords, type Range } from './ranges'

interface QuarantineProps {
  name: string
  offered: Suspect[]
  onClose: () => void
}

/** Which records are quarantined: those that the last runs crashed at, and others that you name. */
export function QuarantineDialog({ name, offered, onClose }: QuarantineProps) {
  const [left, setLeft] = useState<string[]>([])
  const [written, setWritten] = useState('')
  const [reason, setReason] = useState('')
  const [start, setStart] = useState(offered.length > 0)
  const named = parseRange(written)
  const ranges = [...offered.filter((each) => !left.includes(keyOf(each))), ...(named ? [named] : [])].map(
    plain,
  )
  const body: QuarantineRequest = { ranges, reason, start }
  const put = useSending({
    send: () => putInQuarantine(name, body),
    queryKey: keys.pipeline(name),
    done: () => `${plural(recordsIn(ranges), 'record')} of ${name} quarantined.`,
    onClose,
  })
  const misread = written.trim() !== '' && named === null
  const toggle = (key: string) =>
    setLeft((old) => (old.includes(key) ? old.filter((each) => each !== key) : [...old, key]))
  return (
    <Modal opened onClose={onClose} title={`Quarantine records of ${name}?`} size="lg">
      <Stack gap="md">
        <Text size="sm">
          They become dead letters before any interceptor or sink processes them, and the pipeline resumes
          after them. They are delivered only if you retry them from the dead-letter queue.
        </Text>
        {offered.length > 0 && <Offered offered={offered} left={left} onToggle={toggle} />}
        <TextInput
          label={offered.length > 0 ? 'Other records' : 'Records'}
          description="SOURCE.CHANNEL:TOPIC/PARTITION:FROM-TO, last offset included"
          value={written}
          error={misread ? 'Use the form shop.main:orders-in/0:17-19, or one offset.' : undefined}
          onChange={(event) => setWritten(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
        <ReasonField
          description="Stays in the audit log and with each dead letter"
          value={reason}
          onChange={setReason}
        />
        <Switch
          label="Start the pipeline afterwards"
          checked={start}
          onChange={(event) => setStart(event.currentTarget.checked)}
        />
        <ConfirmByName
          name={name}
          keep="Cancel"
          act={`Quarantine ${plural(recordsIn(ranges), 'record')}`}
          blocked={
            misread
              ? 'The other records are not valid ranges.'
              : ranges.length === 0
                ? 'Choose records first.'
                : null
          }
          pending={put.isPending}
          onAct={() => put.mutate()}
          onClose={onClose}
        >
          {put.error && (
            <ChangeError error={put.error} name={name} kind="quarantine" arguments={{ ...body }} />
          )}
          {put.error instanceof Problem && <FindingList findings={put.error.findings} />}
          <ShowCall call={quarantineCall(name, body)} subject="Quarantine records" />
        </ConfirmByName>
      </Stack>
    </Modal>
  )
}

function recordsIn(ranges: Range[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0)
}

interface OfferedProps {
  offered: Suspect[]
  left: string[]
  onToggle: (key: string) => void
}

function Offered({ offered, left, onToggle }: OfferedProps) {
  return (
    <Table
      label="Records at which the last runs crashed"
      maxHeight={240}
      head={
        <>
          <th>
            <span className="visually-hidden">Select</span>
          </th>
          <th>Partition</th>
          <th>Channel</th>
          <th>Offsets</th>
          <th className="num">Records</th>
        </>
      }
    >
      {offered.map((each) => (
        <tr key={keyOf(each)}>
          <td>
            <Check
              label={`Quarantine ${suspectInWords(each)}`}
              checked={!left.includes(keyOf(each))}
              onChange={() => onToggle(keyOf(each))}
            />
          </td>
          <th scope="row">
            {each.topic}/{each.partition}
          </th>
          <td>
            <SourceToChannel source={each.source} channel={each.channel} />
          </td>
          <td>{offsetsOf(each)}</td>
          <td className="num">{count(each.records)}</td>
        </tr>
      ))}
    </Table>
  )
}
