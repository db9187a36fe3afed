import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { IconPlus, IconSnowflake, IconClock, IconHistory } from '@tabler/icons-react'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { freezesQuery, removeFreeze } from '@/api/migrationRules'
import type { Freeze } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { useNow } from '@/lib/clock'
import { FreezeDialog } from './FreezeDialog'
import { scopeInWords } from './scope'

/** Times in which no migration begins; what is under way goes on. */
export function FreezesPanel({ refused }: { refused: string | null }) {
  const { data, error, refetch } = useQuery(freezesQuery)
  const [asking, setAsking] = useState(false)
  return (
    <Panel
      title="Freezes"
      note="what is under way goes on"
      flush
      actions={
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          reason={refused}
          onClick={() => setAsking(true)}
        >
          Add a freeze
        </ReasonButton>
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && (
        <Empty title="Nothing is frozen">A migration may begin at any time, once it is approved.</Empty>
      )}
      {data && data.length > 0 && <FreezeTable freezes={data} refused={refused} />}
      {asking && <FreezeDialog onClose={() => setAsking(false)} />}
    </Panel>
  )
}

function FreezeTable({ freezes, refused }: { freezes: Freeze[]; refused: string | null }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: ({ id }: Freeze) => removeFreeze(id),
    onSuccess: () => announce('The freeze is ended.'),
    onSettled: () => client.invalidateQueries({ queryKey: keys.freezes }),
  })
  return (
    <>
      {removal.error && <ErrorNote error={removal.error} />}
      <Table
        label="Freezes"
        head={
          <>
            <th>Of</th>
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
              <FreezeState freeze={freeze} />
            </td>
            <td>{freeze.reason}</td>
            <td>{freeze.created_by}</td>
            <td>
              <ReasonButton
                size="compact-xs"
                variant="default"
                reason={refused}
                aria-label={`End it: the freeze of ${scopeInWords(freeze)}, ${freeze.reason}`}
                loading={removal.isPending && removal.variables.id === freeze.id}
                onClick={() => removal.mutate(freeze)}
              >
                End it
              </ReasonButton>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function FreezeState({ freeze: { starts_at, ends_at } }: { freeze: Freeze }) {
  const now = useNow()
  if (now < Date.parse(starts_at))
    return (
      <ToneBadge tone="idle" icon={IconClock} plain>
        to come
      </ToneBadge>
    )
  return now < Date.parse(ends_at) ? (
    <ToneBadge tone="held" icon={IconSnowflake}>
      Frozen now
    </ToneBadge>
  ) : (
    <ToneBadge tone="idle" icon={IconHistory} plain>
      over
    </ToneBadge>
  )
}
