import { Button, Select, Switch } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { logDownloadUrl, runsQuery } from '@/api/runs'
import type { Run } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { FilterInput } from '@/components/ui/FilterInput'
import { Panel } from '@/components/ui/Panel'
import { LOG_LEVELS, type LogLevel } from './buffer'
import { LogView } from './LogView'
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

function RunLog({ run, runs }: { run: Run; runs: Run[] }) {
  const { find, level } = useSearch({ from: '/pipelines/$name/log' })
  const navigate = useNavigate({ from: '/pipelines/$name/log' })
  const [follow, setFollow] = useState(run.state !== 'ENDED')
  const go = (search: { run?: number; find?: string; level?: LogLevel }) =>
    void navigate({ search, replace: true, resetScroll: false })
  return (
    <Panel
      title="Log"
      flush
      actions={
        <div className={classes.tools}>
          <FilterInput
            className={classes.find}
            label="Only lines that contain"
            placeholder="Only lines that contain"
            value={find ?? ''}
            onChange={(text) => go({ run: run.id, find: text || undefined, level })}
          />
          <Select
            className={classes.run}
            aria-label="Run"
            data={runs.map(({ id, number, state }) => ({
              value: String(id),
              label: `Run ${number}${state === 'ENDED' ? '' : ' (alive)'}`,
            }))}
            value={String(run.id)}
            onChange={(value) => go({ run: Number(value), find, level })}
          />
          <Select
            className={classes.level}
            aria-label="Level"
            placeholder="Every level"
            clearable
            data={LOG_LEVELS.map((value) => ({ value, label: `${value} and above` }))}
            value={level ?? null}
            onChange={(value) => go({ run: run.id, find, level: (value as LogLevel | null) ?? undefined })}
          />
          <Switch
            size="xs"
            label="Follow"
            checked={follow}
            onChange={(event) => setFollow(event.currentTarget.checked)}
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
      <LogView
        run={run}
        follow={follow}
        find={find ?? ''}
        level={level ?? null}
        onScrollAway={() => setFollow(false)}
      />
    </Panel>
  )
}
