import { Progress } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import {
  IconArrowsExchange,
  IconBan,
  IconCheck,
  IconCircleX,
  IconHourglass,
  IconLoader2,
  type Icon,
} from '@tabler/icons-react'
import { useState } from 'react'
import { rangeReplaysQuery } from '@/api/rangeReplays'
import type { Positions, RangeReplay } from '@/api/types'
import { CancelOperation } from '@/components/actions/CancelOperation'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { count } from '@/lib/format'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { RangeDialog } from './RangeDialog'
import { isOpen, progressOf, rangeInWords } from './words'
import classes from './replays.module.css'

const WATCHING_MS = 2_000

interface ReplaysProps {
  name: string
  partitions: Positions['partitions']
  /** Why nothing may be changed; null where it may. */
  readOnly: string | null
  /** Why a replay cannot be asked for now; null where it can. */
  resting: string | null
}

/** Ranges that are read once more into a channel while the position stays where it is. */
export function ReplaysPanel({ name, partitions, readOnly, resting }: ReplaysProps) {
  const poll = usePollInterval()
  const query = useInfiniteQuery({
    ...rangeReplaysQuery(name),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ results }) => results.some(isOpen)) ? WATCHING_MS : poll,
  })
  const [asking, setAsking] = useState(false)
  const replays = query.data?.pages.flatMap(({ results }) => results) ?? []
  const nothingRead = partitions.length === 0 ? 'Nothing has been read yet that could be replayed.' : null
  return (
    <Panel
      title="Replays"
      note="positions do not change; the ledger marks the batches as replayed"
      flush
      actions={
        <ReasonButton
          variant="default"
          reason={readOnly ?? resting ?? nothingRead}
          onClick={() => setAsking(true)}
        >
          Replay range
        </ReasonButton>
      }
    >
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data && replays.length === 0 && (
        <Empty title="No replays yet">
          A replay reads a range again for a sink that lost it, while the pipeline keeps running.
        </Empty>
      )}
      {replays.length > 0 && <ReplayTable replays={replays} readOnly={readOnly} />}
      <LoadMore query={query} />
      {asking && <RangeDialog name={name} partitions={partitions} onClose={() => setAsking(false)} />}
    </Panel>
  )
}

interface TableProps {
  replays: RangeReplay[]
  readOnly: string | null
}

function ReplayTable({ replays, readOnly }: TableProps) {
  return (
    <Table
      label="Replays"
      maxHeight={360}
      head={
        <>
          <th>Range</th>
          <th>State</th>
          <th>Progress</th>
          <th className="num">Redelivered</th>
          <th className={classes.wide}>Requested</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </>
      }
    >
      {replays.map((replay) => (
        <tr key={replay.id}>
          <th scope="row">
            {rangeInWords(replay)}
            <div className="dim">
              <SourceToChannel source={replay.source} channel={replay.channel} />
            </div>
          </th>
          <td>
            <ReplayState replay={replay} />
          </td>
          <td>
            <Done replay={replay} />
          </td>
          <td className="num">{count(progressOf(replay).delivered)}</td>
          <td className={classes.wide}>
            <Moment at={replay.created_at} /> by {replay.created_by}
          </td>
          <td>
            {isOpen(replay) && (
              <CancelOperation
                operation={replay}
                reason={readOnly}
                label={`Cancel the replay of ${rangeInWords(replay)}`}
              />
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

const LOOKS: Record<RangeReplay['state'], { tone: Tone; icon: Icon; word: string }> = {
  PENDING: { tone: 'idle', icon: IconHourglass, word: 'Waiting' },
  RUNNING: { tone: 'busy', icon: IconLoader2, word: 'Replaying' },
  SUCCEEDED: { tone: 'ok', icon: IconCheck, word: 'Done' },
  FAILED: { tone: 'bad', icon: IconCircleX, word: 'Failed' },
  CANCELLED: { tone: 'warn', icon: IconBan, word: 'Cancelled' },
  SUPERSEDED: { tone: 'idle', icon: IconArrowsExchange, word: 'Replaced' },
}

function ReplayState({ replay }: { replay: RangeReplay }) {
  const { tone, icon, word } = LOOKS[replay.state]
  return (
    <>
      <ToneBadge tone={tone} icon={icon}>
        {word}
      </ToneBadge>
      {replay.error && <div className={classes.error}>{replay.error.message}</div>}
    </>
  )
}

function Done({ replay }: { replay: RangeReplay }) {
  const { done, of, doubtful } = progressOf(replay)
  return (
    <div className={classes.progress}>
      <Progress value={(done / of) * 100} size="sm" aria-label={`Replay of ${rangeInWords(replay)}`} />
      <span>
        {count(done)} of {count(of)} offsets
        {doubtful > 0 && <span className="dim">, {count(doubtful)} possible duplicates</span>}
      </span>
    </div>
  )
}
