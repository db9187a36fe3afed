import { Progress } from '@mantine/core'
import { IconAlertTriangle, IconCircleX } from '@tabler/icons-react'
import type { IngestBuffer } from '@/api/types'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count, NONE } from '@/lib/format'
import classes from './live.module.css'

/** Push and file sources: what they accepted since the run started, and how full their ingest buffers are. */
export function IngestBuffers({ ingest_buffers }: { ingest_buffers: IngestBuffer[] }) {
  return (
    <Panel title="Ingest buffers" note="push and file sources, since the run started" flush>
      <Table
        label="Ingest buffers"
        head={
          <>
            <th>Source</th>
            <th className="num">Events accepted</th>
            <th>Buffered</th>
            <th>Responses by status</th>
            <th>Delayed by</th>
          </>
        }
      >
        {ingest_buffers.map((ingestBuffer) => (
          <tr key={ingestBuffer.source}>
            <th scope="row">{ingestBuffer.source}</th>
            <td className="num">{count(ingestBuffer.taken)}</td>
            <td>
              <Held ingestBuffer={ingestBuffer} />
            </td>
            <td>{answersOf(ingestBuffer)}</td>
            <td className={classes.detail}>
              <Trouble ingestBuffer={ingestBuffer} />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

const NEARLY_FULL = 0.9

function Held({ ingestBuffer: { source, held, capacity } }: { ingestBuffer: IngestBuffer }) {
  const share = capacity > 0 ? held / capacity : 0
  return (
    <div className={classes.held}>
      <Progress
        value={share * 100}
        size="sm"
        color={share >= NEARLY_FULL ? 'orange.8' : undefined}
        aria-label={`Ingest buffer of ${source}`}
      />
      <span>
        {count(held)} of {count(capacity)} events{share >= NEARLY_FULL && ', nearly full'}
      </span>
    </div>
  )
}

/** `200: 9, 503: 1`; a source without requests answers none. */
export function answersOf({ answers }: Pick<IngestBuffer, 'answers'>): string {
  const known = Object.entries(answers).toSorted(([a], [b]) => a.localeCompare(b))
  return known.map(([status, times]) => `${status}: ${count(times)}`).join(', ') || NONE
}

function Trouble({ ingestBuffer: { failure, held_up_by } }: { ingestBuffer: IngestBuffer }) {
  if (failure) {
    return (
      <ToneBadge tone="bad" icon={IconCircleX} plain>
        {failure}
      </ToneBadge>
    )
  }
  if (!held_up_by) return NONE
  return (
    <ToneBadge tone="warn" icon={IconAlertTriangle} plain>
      {held_up_by}
    </ToneBadge>
  )
}
