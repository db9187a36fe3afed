import type { PositionMove } from '@/api/types'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { count } from '@/lib/format'

/** What a decision about positions does to each partition. */
export function Moves({ moves }: { moves: PositionMove[] }) {
  return (
    <Table
      label="Effect on each partition"
      maxHeight={320}
      head={
        <>
          <th>Partition</th>
          <th className="num">Current</th>
          <th className="num">New</th>
          <th className="num">Skips</th>
          <th className="num">Of these deleted</th>
          <th className="num">Rereads</th>
        </>
      }
    >
      {moves.map((move) => (
        <tr key={`${move.source} ${move.channel} ${move.topic} ${move.partition}`}>
          <th scope="row">
            {move.topic}/{move.partition}
            <div className="dim">
              <SourceToChannel source={move.source} channel={move.channel} />
            </div>
          </th>
          <td className="num">{count(move.old)}</td>
          <td className="num">{count(move.new)}</td>
          <td className="num">{count(move.skip)}</td>
          <td className="num">{count(move.gone)}</td>
          <td className="num">{count(move.replay)}</td>
        </tr>
      ))}
    </Table>
  )
}
