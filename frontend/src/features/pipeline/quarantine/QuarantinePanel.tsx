import { useQuery } from '@tanstack/react-query'
import { IconArrowForwardUp, IconHourglass } from '@tabler/icons-react'
import { useState } from 'react'
import { pipelineQuery } from '@/api/pipelines'
import { quarantineQuery } from '@/api/quarantine'
import type { Phase, Quarantine } from '@/api/types'
import { Empty, Unread } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count } from '@/lib/format'
import { QuarantineDialog } from './QuarantineDialog'
import { keyOf, notLocated, offsetsOf } from './ranges'

/** Records that are kept from every interceptor and sink, and the way to set more aside. */
export function QuarantinePanel({ name, readOnly }: { name: string; readOnly: string | null }) {
  const { data: pipeline } = useQuery(pipelineQuery(name))
  const query = useQuery(quarantineQuery(name))
  const { data } = query
  const [asking, setAsking] = useState(false)
  return (
    <Panel
      title="Quarantine"
      note="records that become dead letters before they are processed"
      flush
      actions={
        <ReasonButton
          variant="default"
          reason={readOnly ?? restingReason(pipeline?.phase) ?? notLocated(query)}
          onClick={() => setAsking(true)}
        >
          Quarantine records
        </ReasonButton>
      }
    >
      <Unread query={query} what="quarantine" />
      {data?.ranges.length === 0 && (
        <Empty title="No records in quarantine">
          Quarantine a record that crashes every run, so that the pipeline can process the others.
        </Empty>
      )}
      {data && data.ranges.length > 0 && <Ranges ranges={data.ranges} />}
      {asking && data && (
        <QuarantineDialog name={name} offered={data.offered} onClose={() => setAsking(false)} />
      )}
    </Panel>
  )
}

const RESTING: Phase[] = ['STOPPED', 'BLOCKED', 'FAILED', 'BACKOFF']

function restingReason(phase: Phase | undefined): string | null {
  if (phase === undefined || RESTING.includes(phase)) return null
  return 'A running agent does not read new quarantine entries. Stop the pipeline first.'
}

function Ranges({ ranges }: { ranges: Quarantine['ranges'] }) {
  return (
    <Table
      label="Quarantine"
      maxHeight={300}
      head={
        <>
          <th>Partition</th>
          <th>Channel</th>
          <th>Offsets</th>
          <th className="num">Records</th>
          <th>Reason</th>
          <th>Added</th>
          <th>State</th>
        </>
      }
    >
      {ranges.map((each) => (
        <tr key={`${keyOf(each)} ${each.created_at}`}>
          <th scope="row">
            {each.topic}/{each.partition}
          </th>
          <td>
            <SourceToChannel source={each.source} channel={each.channel} />
          </td>
          <td>{offsetsOf(each)}</td>
          <td className="num">{count(each.records)}</td>
          <td>{each.cause}</td>
          <td>
            <Moment at={each.created_at} /> by {each.created_by}
          </td>
          <td>
            <Passed passed={each.passed} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Passed({ passed }: { passed: boolean }) {
  return passed ? (
    <ToneBadge tone="ok" icon={IconArrowForwardUp} plain>
      Passed
    </ToneBadge>
  ) : (
    <ToneBadge tone="held" icon={IconHourglass} plain>
      Ahead
    </ToneBadge>
  )
}
