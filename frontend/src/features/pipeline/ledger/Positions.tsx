import type { Position } from '@/api/types'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { count } from '@/lib/format'

/** Headgate's own positions: where the next start resumes. */
export function Positions({ positions }: { positions: Position[] }) {
  return (
    <Panel title="Positions" note="from the ledger; the next start resumes here" flush>
      {positions.length === 0 ? (
        <Empty title="No position yet" />
      ) : (
        <Table
          label="Positions"
          maxHeight={360}
          head={
            <>
              <th>Source</th>
              <th>Channel</th>
              <th>Topic</th>
              <th className="num">Partition</th>
              <th className="num">Next offset</th>
              <th>Since</th>
            </>
          }
        >
          {positions.map((position) => (
            <tr key={[position.source, position.channel, position.topic, position.partition].join(' ')}>
              <td>{position.source}</td>
              <td>{position.channel}</td>
              <td>{position.topic}</td>
              <td className="num">{position.partition}</td>
              <td className="num">{count(position.next_offset)}</td>
              <td>
                <Moment at={position.updated_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}
