import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { groupsQuery, unwatchGroup } from '@/api/groups'
import { keys } from '@/api/keys'
import type { ExternalGroup } from '@/api/types'
import { useRefusal } from '@/components/teams/useReadOnly'
import { useSeveralTeams } from '@/components/teams/useTeamChoice'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ownerWords } from '@/domain/owners'
import { cannotWrite } from '@/domain/roles'
import { count, plural } from '@/lib/format'
import { useBarred } from '@/lib/session'
import { WatchDialog } from './WatchDialog'
import classes from './groups.module.css'

const POLL_MS = 10_000

/** External consumer groups, monitored so that a lost or moved commit does not go unseen. */
export function GroupsPage() {
  const { data, error, refetch } = useQuery({ ...groupsQuery, refetchInterval: POLL_MS })
  const readOnly = useBarred(cannotWrite)
  const [watching, setWatching] = useState(false)
  return (
    <div className={classes.page}>
      <PageHeader
        title="External consumer groups"
        beside={data && <span className="dim">{plural(data.length, 'group')}</span>}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={14} aria-hidden />}
            reason={readOnly}
            onClick={() => setWatching(true)}
          >
            Monitor group
          </ReasonButton>
        }
      />
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <Panel title="Consumer groups" flush>
          {data.length === 0 ? (
            <Empty title="No consumer group is monitored">
              Headgate reads the commits, coordinator and members of an external consumer group, and emits an
              event when a commit disappears or jumps. Add the first group with Monitor group.
            </Empty>
          ) : (
            <GroupTable groups={data} />
          )}
        </Panel>
      )}
      {watching && <WatchDialog onClose={() => setWatching(false)} />}
    </div>
  )
}

function GroupTable({ groups }: { groups: ExternalGroup[] }) {
  const refusal = useRefusal()
  const client = useQueryClient()
  const several = useSeveralTeams()
  const removal = useMutation({
    mutationFn: ({ id }: ExternalGroup) => unwatchGroup(id),
    onSuccess: (_, { group }) => announce(`${group} is no longer monitored.`),
    onSettled: () => client.invalidateQueries({ queryKey: keys.groups }),
  })
  return (
    <>
      {removal.error && <ErrorNote error={removal.error} />}
      <Table
        label="Consumer groups"
        head={
          <>
            <th>Group</th>
            <th>Cluster</th>
            {several && <th>Team</th>}
            <th>State</th>
            <th className="num">Members</th>
            <th className="num">Lag</th>
            <th>Inspected</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {groups.map((group) => (
          <tr key={group.id}>
            <th scope="row">{group.group}</th>
            <td className="mono">{group.bootstrap_servers}</td>
            {several && <td>{ownerWords(group.team)}</td>}
            <td>{group.error || group.state || 'not inspected yet'}</td>
            <td className="num">{count(group.members.length)}</td>
            <td className="num">{count(group.records)}</td>
            <td>
              <Ago at={group.inspected_at} />
            </td>
            <td>
              <ReasonButton
                size="compact-xs"
                variant="default"
                reason={refusal(group.team)}
                aria-label={`Stop monitoring ${group.group}`}
                loading={removal.isPending && removal.variables.id === group.id}
                onClick={() => removal.mutate(group)}
              >
                Stop monitoring
              </ReasonButton>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}
