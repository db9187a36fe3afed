import { Button } from '@mantine/core'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { IconPlus } from '@tabler/icons-react'
import { useCallback, useMemo, useState } from 'react'
import type { Pipeline } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { count, plural } from '@/lib/format'
import { useSession } from '@/lib/session'
import { AttentionList } from './AttentionList'
import { BulkBar } from './BulkBar'
import { useFavourites } from './favourites'
import { filterPipelines, isFiltered, sortPipelines, withoutFilter, type OverviewSearch } from './filter'
import { FirstPipeline } from './FirstPipeline'
import { MigrationsWaiting } from './MigrationsWaiting'
import { PipelineTable } from './PipelineTable'
import { Toolbar } from './Toolbar'
import { Verdict } from './Verdict'
import { usePipelines } from './usePipelines'
import classes from './overview.module.css'

export function OverviewPage() {
  const { pipelines, error, refetch } = usePipelines()
  return (
    <div className={classes.page}>
      <PageHeader
        title="Pipelines"
        beside={pipelines && pipelines.length > 0 && <Summary pipelines={pipelines} />}
        actions={<NewPipeline />}
      />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!pipelines && !error && <Loading rows={8} />}
      {pipelines && (pipelines.length === 0 ? <FirstPipeline /> : <Overview pipelines={pipelines} />)}
    </div>
  )
}

function NewPipeline() {
  const { session } = useSession()
  if (session?.role === 'viewer') return null
  return (
    <Button component={Link} to="/pipelines/new" leftSection={<IconPlus size={14} aria-hidden />}>
      New pipeline
    </Button>
  )
}

function Overview({ pipelines }: { pipelines: Pipeline[] }) {
  const search = useSearch({ from: '/' })
  const navigate = useNavigate({ from: '/' })
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const setSearch = useCallback(
    (next: OverviewSearch) => void navigate({ search: next, replace: true }),
    [navigate],
  )
  const { favourites } = useFavourites()
  const shown = useMemo(
    () => sortPipelines(filterPipelines(pipelines, search, favourites), search),
    [pipelines, search, favourites],
  )
  const chosen = useMemo(() => shown.filter(({ name }) => selected.has(name)), [shown, selected])
  return (
    <>
      <AttentionList pipelines={pipelines} />
      <MigrationsWaiting />
      <Toolbar pipelines={pipelines} search={search} onChange={setSearch} />
      <PipelineTable
        pipelines={shown}
        search={search}
        onSort={setSearch}
        selected={selected}
        onSelect={setSelected}
        filtered={isFiltered(search)}
        onClearFilter={() => setSearch(withoutFilter(search))}
      />
      <BulkBar chosen={chosen} onClear={() => setSelected(new Set())} />
    </>
  )
}

function Summary({ pipelines }: { pipelines: Pipeline[] }) {
  const running = pipelines.filter(({ phase }) => phase === 'RUNNING').length
  return (
    <>
      <Verdict pipelines={pipelines} />
      <span className="dim">
        {plural(pipelines.length, 'pipeline')}, {count(running)} running
      </span>
    </>
  )
}
