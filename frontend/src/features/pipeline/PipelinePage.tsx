import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { operationQuery } from '@/api/operations'
import { pipelineQuery, statusQuery } from '@/api/pipelines'
import { Problem } from '@/api/problem'
import type { Operation } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { PhaseBadge } from '@/components/ui/PhaseBadge'
import { usePollInterval, useWatched } from '@/lib/live/LiveProvider'
import { Panel } from '@/components/ui/Panel'
import { Findings } from '@/components/ui/Findings'
import { ActionButtons } from '@/components/actions/ActionButtons'
import { ChangeButton } from './ChangeButton'
import { ChangeRequests, useOpenRequests } from './ChangeRequests'
import { Decisions } from './decisions/Decisions'
import { DrainFigures } from './DrainFigures'
import { freshness } from '@/domain/freshness'
import { useAtTime } from '@/lib/clock'
import { useRereadWhile } from '@/lib/live/useRereadWhile'
import { keys } from '@/api/keys'
import { SilentAgent } from './SilentAgent'
import { Headline } from './Headline'
import { untold } from './told'
import { MigrationNote, useOpenMigration } from './MigrationNote'
import { MoreMenu } from './MoreMenu'
import { OperationPanel } from './OperationPanel'
import { OutdatedSecrets } from './OutdatedSecrets'
import { OutputNote } from './OutputNote'
import { Stats } from './Stats'
import { TabBar } from './TabBar'
import { usePhaseAnnouncements } from './usePhaseAnnouncements'
import classes from './pipeline.module.css'

const OPERATION_POLL_MS = 1_000

export function PipelinePage() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const poll = usePollInterval()
  useWatched(name)
  const pipeline = useQuery({ ...pipelineQuery(name), refetchInterval: poll })
  const status = useQuery({ ...statusQuery(name), refetchInterval: poll })
  const operation = useQuery({
    ...operationQuery(name),
    refetchInterval: ({ state }) => (isOpen(state.data) ? OPERATION_POLL_MS : poll),
  })
  const notes = [status, operation, useOpenMigration(name), useOpenRequests(name)]
  const shown = pipeline.data
  useRereadWhile(
    useAtTime((now) => shown !== undefined && freshness(shown, now).stale),
    [keys.detail(name), keys.status(name)],
  )
  usePhaseAnnouncements(pipeline.data)
  if (pipeline.error && !pipeline.data)
    return <Missing name={name} error={pipeline.error} onRetry={pipeline.refetch} />
  if (!pipeline.data) return <Loading rows={6} />
  return (
    <div className={classes.page}>
      <PageHeader
        title={name}
        before={<Crumbs />}
        beside={<PhaseBadge phase={pipeline.data.phase} large />}
        actions={
          <>
            <ActionButtons pipeline={pipeline.data} />
            <ChangeButton pipeline={pipeline.data} />
            <MoreMenu pipeline={pipeline.data} />
          </>
        }
      >
        <Headline pipeline={pipeline.data} status={status.data} />
      </PageHeader>
      {notes.some(({ isPending }) => isPending) && <Loading rows={1} label="Loading what requires action" />}
      <MigrationNote name={name} />
      <ChangeRequests name={name} />
      {operation.data && (
        <OperationPanel
          key={operation.data.id}
          operation={operation.data}
          pipeline={pipeline.data}
          run={status.data?.run}
          drain={status.data?.drain}
        />
      )}
      {status.data?.drain?.kind === 'migration' && (
        <Panel title="Waiting for in-flight batches" note="paused by the migration above">
          <DrainFigures drain={status.data.drain} />
        </Panel>
      )}
      {status.data && <Findings findings={untold(status.data)} />}
      {status.data && <OutputNote name={name} status={status.data} />}
      {status.data && <OutdatedSecrets status={status.data} />}
      {status.data && <Decisions pipeline={pipeline.data} status={status.data} />}
      <Stats pipeline={pipeline.data} status={status.data} />
      <SilentAgent pipeline={pipeline.data} />
      <TabBar name={name} />
      <Outlet />
    </div>
  )
}

function isOpen(operation: Operation | null | undefined): boolean {
  return operation?.state === 'PENDING' || operation?.state === 'RUNNING'
}

function Crumbs() {
  return (
    <nav aria-label="Breadcrumb" className={classes.crumbs}>
      <Link to="/">Pipelines</Link>
    </nav>
  )
}

function Missing({ name, error, onRetry }: { name: string; error: Error; onRetry: () => void }) {
  const gone = error instanceof Problem && error.status === 404
  return (
    <div className={classes.page}>
      <PageHeader title={gone ? `There is no pipeline named ${name}` : name} before={<Crumbs />} />
      {gone ? (
        <p>
          It may have been deleted, or its name is misspelled. <Link to="/">Show all pipelines</Link>.
        </p>
      ) : (
        <ErrorNote error={error} onRetry={onRetry} />
      )}
    </div>
  )
}
