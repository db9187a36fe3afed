import { Button, Select, Switch } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { IconChevronLeft, IconDownload } from '@tabler/icons-react'
import { logDownloadUrl, runsQuery } from '@/api/runs'
import type { Run } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { LogView } from './LogView'
import { wantedOf, type LogSearch } from './search'
import classes from './log.module.css'

/** What the agent's driver and JVM have written. */
export function LogTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { run: asked } = useSearch({ from: '/pipelines/$name/log' })
  const { data, error, refetch } = useInfiniteQuery(runsQuery(name))
  const runs = data?.pages.flatMap(({ results }) => results) ?? []
  const run = runs.find(({ id }) => id === asked) ?? latest(runs)
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  if (!run) {
    return (
      <Panel title="Log">
        <Empty title="No log yet">The log starts with the first run.</Empty>
      </Panel>
    )
  }
  return <RunLog key={run.id} run={run} runs={runs} />
}

/** The run that consumes, or was the last to do so; the number of a standby may be higher. */
function latest(runs: Run[]): Run | undefined {
  return runs.reduce<Run | undefined>(
    (found, run) => ((run.epoch ?? 0) > (found?.epoch ?? 0) ? run : found),
    runs[0],
  )
}

/** The run that consumed before another one, of those that are listed. */
function previous(runs: Run[], run: Run): Run | undefined {
  return latest(runs.filter(({ epoch }) => epoch !== null && epoch < (run.epoch ?? 0)))
}

function RunLog({ run, runs }: { run: Run; runs: Run[] }) {
  const search = useSearch({ from: '/pipelines/$name/log' })
  const navigate = useNavigate({ from: '/pipelines/$name/log' })
  const follow = search.follow ?? (run.state !== 'ENDED' && !search.at)
  const earlier = previous(runs, run)
  const go = (change: Partial<LogSearch>) =>
    void navigate({ search: { ...search, run: run.id, ...change }, replace: true, resetScroll: false })
  const show = (id: number) => go({ run: id, at: undefined, follow: undefined })
  return (
    <Panel
      title="Log"
      flush
      actions={
        <div className={classes.tools}>
          <Button
            variant="default"
            disabled={!earlier}
            leftSection={<IconChevronLeft size={14} aria-hidden />}
            onClick={() => earlier && show(earlier.id)}
          >
            Previous run
          </Button>
          <Select
            className={classes.run}
            aria-label="Run"
            data={runs.map(({ id, number, state }) => ({
              value: String(id),
              label: `Run ${number}${state === 'ENDED' ? '' : ' (alive)'}`,
            }))}
            value={String(run.id)}
            onChange={(value) => show(Number(value))}
          />
          <Switch
            size="xs"
            label="Follow"
            checked={follow}
            onChange={(event) => go({ follow: event.currentTarget.checked, at: undefined })}
          />
          <Switch
            size="xs"
            label="Wrap lines"
            checked={search.wrap ?? false}
            onChange={(event) => go({ wrap: event.currentTarget.checked || undefined })}
          />
          <Button
            component="a"
            variant="default"
            href={logDownloadUrl(run.id)}
            download={`run-${run.number}.log`}
            leftSection={<IconDownload size={14} aria-hidden />}
          >
            Download
          </Button>
        </div>
      }
    >
      <LogView key={JSON.stringify(wantedOf(search))} run={run} search={search} follow={follow} go={go} />
    </Panel>
  )
}
