import { useQuery } from '@tanstack/react-query'
import { IconPlus, IconSnowflake, IconClock, IconHistory } from '@tabler/icons-react'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { freezesQuery, removeFreeze } from '@/api/migrationRules'
import type { Freeze } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { endFreezeCall } from '@/domain/migrationCalls'
import { useNow } from '@/lib/clock'
import { FreezeDialog } from './FreezeDialog'
import { RemovalDialog } from '@/components/actions/RemovalDialog'
import { scopeInWords } from './scope'

/** Times in which no migration starts; running ones continue. */
export function FreezesPanel({ refused }: { refused: string | null }) {
  const { data, error, refetch } = useQuery(freezesQuery)
  const [asking, setAsking] = useState(false)
  return (
    <Panel
      title="Freezes"
      note="running migrations continue"
      flush
      actions={
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          reason={refused}
          onClick={() => setAsking(true)}
        >
          Add freeze
        </ReasonButton>
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && (
        <Empty title="No freezes">
          An approved migration can start at any time. Add the first freeze to block starts for a period.
        </Empty>
      )}
      {data && data.length > 0 && <FreezeTable freezes={data} refused={refused} />}
      {asking && <FreezeDialog onClose={() => setAsking(false)} />}
    </Panel>
  )
}

function FreezeTable({ freezes, refused }: { freezes: Freeze[]; refused: string | null }) {
  const now = useNow()
  const [ending, setEnding] = useState<Freeze | null>(null)
  return (
    <>
      <Table
        label="Freezes"
        head={
          <>
            <th>Scope</th>
            <th>From</th>
            <th>Until</th>
            <th>State</th>
            <th>Reason</th>
            <th>By</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {freezes.map((freeze) => (
          <tr key={freeze.id}>
            <th scope="row">{scopeInWords(freeze)}</th>
            <td>
              <Moment at={freeze.starts_at} />
            </td>
            <td>
              <Moment at={freeze.ends_at} />
            </td>
            <td>
              <FreezeState freeze={freeze} now={now} />
            </td>
            <td>{freeze.reason}</td>
            <td>{freeze.created_by}</td>
            <td>
              {!isOver(freeze, now) && (
                <ReasonButton
                  size="compact-xs"
                  variant="default"
                  reason={refused}
                  aria-label={`End freeze: ${scopeInWords(freeze)}, ${freeze.reason}`}
                  onClick={() => setEnding(freeze)}
                >
                  End freeze
                </ReasonButton>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {ending && <EndDialog freeze={ending} onClose={() => setEnding(null)} />}
    </>
  )
}

function EndDialog({ freeze, onClose }: { freeze: Freeze; onClose: () => void }) {
  const scope = scopeInWords(freeze)
  return (
    <RemovalDialog
      title={`End the freeze of ${scope}?`}
      words={`${freeze.created_by} set it: ${freeze.reason}. Without it, migrations of ${scope} can start unless another freeze applies.`}
      button="End freeze"
      call={endFreezeCall(freeze.id)}
      remove={() => removeFreeze(freeze.id)}
      queryKey={keys.freezes}
      done="The freeze is ended."
      onClose={onClose}
    />
  )
}

const isOver = ({ ends_at }: Freeze, now: number) => now >= Date.parse(ends_at)

function FreezeState({ freeze, now }: { freeze: Freeze; now: number }) {
  if (now < Date.parse(freeze.starts_at))
    return (
      <ToneBadge tone="idle" icon={IconClock} plain>
        Scheduled
      </ToneBadge>
    )
  return isOver(freeze, now) ? (
    <ToneBadge tone="idle" icon={IconHistory} plain>
      Ended
    </ToneBadge>
  ) : (
    <ToneBadge tone="held" icon={IconSnowflake}>
      Active
    </ToneBadge>
  )
}
