import { IconAlertTriangle, IconCheck, IconHelpCircle } from '@tabler/icons-react'
import type { Positions } from '@/api/types'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count } from '@/lib/format'
import { partitionOf } from './words'

type Partition = Positions['partitions'][number]

/** The next offset of each partition by ledger, checkpoint and group, and what the log holds. */
export function Partitions({ partitions }: { partitions: Partition[] }) {
  return (
    <Table
      label="Positions by partition"
      maxHeight={420}
      head={
        <>
          <th>Partition</th>
          <th className="num">Ledger</th>
          <th className="num">Checkpoint</th>
          <th className="num">Group</th>
          <th className="num">Log start</th>
          <th className="num">Log end</th>
          <th>Result</th>
        </>
      }
    >
      {partitions.map((each) => (
        <tr key={partitionOf(each)}>
          <th scope="row">
            {each.topic}/{each.partition}
            <div className="dim">
              <SourceToChannel source={each.source} channel={each.channel} />
            </div>
          </th>
          <td className="num">{count(each.ledger)}</td>
          <td className="num">{count(each.checkpoint)}</td>
          <td className="num">{count(each.group)}</td>
          <td className="num">{count(each.log_start)}</td>
          <td className="num">{count(each.log_end)}</td>
          <td>
            <Verdict {...each} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Verdict({ verdict, codes }: Pick<Partition, 'verdict' | 'codes'>) {
  if (verdict === 'AGREES') {
    return (
      <ToneBadge tone="ok" icon={IconCheck} plain>
        agrees
      </ToneBadge>
    )
  }
  if (codes.length === 0) {
    return (
      <ToneBadge tone="idle" icon={IconHelpCircle} plain>
        not inspected
      </ToneBadge>
    )
  }
  return (
    <ToneBadge tone="bad" icon={IconAlertTriangle} plain>
      {codes.join(', ')}
    </ToneBadge>
  )
}
