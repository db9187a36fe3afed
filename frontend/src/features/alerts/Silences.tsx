import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { endSilence, silencesQuery } from '@/api/alerts'
import { keys } from '@/api/keys'
import { useRefusal } from '@/components/teams/useReadOnly'
import { useSeveralTeams } from '@/components/teams/useTeamChoice'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote, Unread } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { matcherWords } from '@/domain/matchers'
import { ownerWords } from '@/domain/owners'
import { count } from '@/lib/format'
import { usePollInterval } from '@/lib/live/LiveProvider'

/** Silences that hold messages back now; nothing where there are none. */
export function Silences() {
  const client = useQueryClient()
  const query = useQuery({ ...silencesQuery, refetchInterval: usePollInterval() })
  const several = useSeveralTeams()
  const refusal = useRefusal()
  const end = useMutation({
    mutationFn: endSilence,
    onSuccess: () => announce('The silence is ended.'),
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: keys.anyAlert }),
        client.invalidateQueries({ queryKey: keys.silences }),
      ]),
  })
  if (!query.data) return <Unread query={query} what="active silences" />
  if (query.data.length === 0) return null
  return (
    <Panel title="Active silences" note="messages are held back, alerts stay visible" flush>
      {end.error && <ErrorNote error={end.error} />}
      <Table
        label="Active silences"
        head={
          <>
            <th>Alerts</th>
            {several && <th>Team</th>}
            <th>Comment</th>
            <th>Created by</th>
            <th>Ends</th>
            <th className="num">Suppressed</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {query.data.map((silence) => (
          <tr key={silence.id}>
            <th scope="row">{matcherWords(silence.matchers)}</th>
            {several && <td>{ownerWords(silence.team)}</td>}
            <td>{silence.comment}</td>
            <td>{silence.created_by}</td>
            <td>
              <Moment at={silence.ends_at} />
            </td>
            <td className="num">{count(silence.suppressed)}</td>
            <td>
              <ReasonButton
                size="compact-xs"
                variant="default"
                reason={refusal(silence.team)}
                aria-label={`End silence ${silence.id}`}
                loading={end.isPending && end.variables === silence.id}
                onClick={() => end.mutate(silence.id)}
              >
                End silence
              </ReasonButton>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
