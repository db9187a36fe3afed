import { Skeleton } from '@mantine/core'
import { Problem } from '@/api/problem'
import type { PositionMove } from '@/api/types'
import { count } from '@/lib/format'
import type { Count } from './useCount'

type Place = Pick<PositionMove, 'source' | 'channel' | 'topic' | 'partition'>

/** What the count says of one partition: its figures, that it is being counted, why it cannot be, or that it is not known. */
export function Effect({ place, counted }: { place: Place; counted: Count }) {
  switch (counted.state) {
    case 'none':
      return <span className="dim">unchanged</span>
    case 'counting':
      return (
        <span role="status" aria-label="Counting">
          <Skeleton height={12} width={90} />
        </span>
      )
    case 'silent':
      return <span className="dim">unknown</span>
    case 'failed':
      return <Impossible reason={reasonOf(place, counted.error)} />
    case 'counted': {
      const move = counted.plan.partitions.find((each) => isAt(each, place))
      return move ? <Figures move={move} /> : <span className="dim">unknown</span>
    }
  }
}

function Figures({ move: { old, new: next, skip, replay, gone } }: { move: PositionMove }) {
  if (old === next && skip === 0 && replay === 0) return <span className="dim">unchanged</span>
  return (
    <>
      {skip > 0 && (
        <div data-bad>
          skips {count(skip)}
          {gone > 0 && `, ${count(gone)} of them deleted`}
        </div>
      )}
      {replay > 0 && <div>rereads {count(replay)}</div>}
      {skip === 0 && replay === 0 && <div>skips and rereads nothing</div>}
      <div className="dim">continues at {count(next)}</div>
    </>
  )
}

function Impossible({ reason }: { reason: string | null }) {
  return reason === null ? <span className="dim">unknown</span> : <span data-bad>{reason}</span>
}

/** The server names the partition at the head of each finding. */
function reasonOf({ channel, topic, partition }: Place, error: Error): string | null {
  if (!(error instanceof Problem)) return null
  const head = `${channel} ${topic}/${partition}: `
  return error.findings.find(({ message }) => message.startsWith(head))?.message.slice(head.length) ?? null
}

function isAt(move: PositionMove, { source, channel, topic, partition }: Place): boolean {
  return (
    move.source === source && move.channel === channel && move.topic === topic && move.partition === partition
  )
}
