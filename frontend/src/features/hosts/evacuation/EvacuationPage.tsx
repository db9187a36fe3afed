import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Progress } from '@mantine/core'
import { cancelEvacuation, evacuationQuery } from '@/api/evacuations'
import { keys } from '@/api/keys'
import { Problem } from '@/api/problem'
import { sessionQuery } from '@/api/session'
import type { Evacuation } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { MigrationTable } from '@/components/migrations/MigrationTable'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { cancelEvacuationCall } from '@/domain/migrationCalls'
import { cannotAdministerAll } from '@/domain/roles'
import { inOneSentence, OUTCOMES, tallyOf } from './progress'
import classes from '../hosts.module.css'

const POLL_MS = 2_000

/** A host that is emptied: who moves, who waits, who stays and why. */
export function EvacuationPage() {
  const { id } = useParams({ from: '/evacuations/$id' })
  const { data, error, refetch } = useQuery({
    ...evacuationQuery(id),
    refetchInterval: ({ state }) => (state.data?.ended_at ? false : POLL_MS),
  })
  const gone = error instanceof Problem && error.status === 404
  if (gone) return <PageHeader title="Evacuation not found" />
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  return (
    <div className={classes.page}>
      <PageHeader
        title={`Evacuation of ${data.host}`}
        before={
          <nav aria-label="Breadcrumb" className={classes.crumbs}>
            <Link to="/hosts">Hosts</Link>
          </nav>
        }
      >
        <p className={classes.sentence}>
          <strong>{inOneSentence(data)}</strong> {data.ended_at && (OUTCOMES[data.outcome] ?? data.outcome)}
        </p>
        <p className={classes.note}>
          Requested by {data.created_by} at <Moment at={data.created_at} />: {data.reason} · {data.at_once} in
          parallel
          {data.go_on ? ' · continues after a failure' : ' · stops at the first failure after a change'}
          {typeof data.rules.window === 'number' && ` · observation window ${data.rules.window} s`}
        </p>
      </PageHeader>
      <HowFar evacuation={data} />
      <Panel title="Migrations" flush>
        {data.migrations.length === 0 ? (
          <Empty title="No migration has started yet" />
        ) : (
          <MigrationTable migrations={data.migrations} label={`Migrations from ${data.host}`} />
        )}
      </Panel>
      <Left evacuation={data} />
      {data.waiting.length > 0 && (
        <Panel title="Waiting" note="in this order">
          <p className={classes.sentence}>{data.waiting.join(', ')}</p>
        </Panel>
      )}
      {data.ended_at === null && <Cancel evacuation={data} />}
    </div>
  )
}

function HowFar({ evacuation }: { evacuation: Evacuation }) {
  const { moved, left, all } = tallyOf(evacuation)
  const share = (part: number) => (part / Math.max(all, 1)) * 100
  return (
    <Progress.Root>
      <Progress.Section
        value={all === 0 ? 100 : share(moved)}
        color="green"
        aria-label={`Moved from ${evacuation.host}`}
      />
      <Progress.Section value={share(left)} color="yellow" aria-label={`Staying on ${evacuation.host}`} />
    </Progress.Root>
  )
}

function Left({ evacuation: { left, host } }: { evacuation: Evacuation }) {
  const names = Object.keys(left)
  if (names.length === 0) return null
  return (
    <Panel title={`Staying on ${host}`} note="they keep running" flush>
      <Table
        label={`Pipelines that stay on ${host}`}
        head={
          <>
            <th>Pipeline</th>
            <th>Reason</th>
          </>
        }
      >
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">
              <Link to="/pipelines/$name" params={{ name }} preload={false}>
                {name}
              </Link>
            </th>
            <td>{left[name]}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function Cancel({ evacuation }: { evacuation: Evacuation }) {
  const client = useQueryClient()
  const refused = cannotAdministerAll(useQuery(sessionQuery).data)
  const cancel = useMutation({
    mutationFn: () => cancelEvacuation(evacuation.id),
    onSuccess: () => announce('No further migrations start.'),
    onSettled: () => client.invalidateQueries({ queryKey: keys.evacuations }),
  })
  return (
    <Panel title="Cancel" note="No further migrations start. Running ones continue.">
      <div className={classes.form}>
        {cancel.error && <ErrorNote error={cancel.error} />}
        <div>
          <ReasonButton
            variant="default"
            reason={refused}
            loading={cancel.isPending}
            onClick={() => cancel.mutate()}
          >
            Cancel evacuation
          </ReasonButton>
        </div>
        <ShowCall call={cancelEvacuationCall(evacuation.id)} subject="Cancel" />
      </div>
    </Panel>
  )
}
