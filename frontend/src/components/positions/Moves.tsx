import { IconCheck } from '@tabler/icons-react'
import type { PositionMove } from '@/api/types'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count } from '@/lib/format'

interface MovesProps {
  moves: PositionMove[]
  /** Whether it was done, rather than planned. */
  applied?: boolean
}

/** What a decision about positions does to each partition, or has done. */
export function Moves({ moves, applied = false }: MovesProps) {
  return (
    <Table
      label={applied ? 'Result of each partition' : 'Effect on each partition'}
      maxHeight={320}
      head={
        <>
          <th>Partition</th>
          <th className="num">Current</th>
          <th className="num">New</th>
          <th className="num">Skips</th>
          <th className="num">Of these deleted</th>
          <th className="num">Rereads</th>
          {applied && <th>Result</th>}
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
          {applied && (
            <td>
              <ToneBadge tone="ok" icon={IconCheck} plain>
                Applied
              </ToneBadge>
            </td>
          )}
        </tr>
      ))}
    </Table>
  )
}
