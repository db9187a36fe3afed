import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useDeferredValue, useMemo } from 'react'
import { fleetQuery } from '@/api/fleet'
import type { FleetPipeline, Pipeline } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { plural } from '@/lib/format'
import { useFavourites } from './favourites'
import { filterPipelines, sortPipelines, withoutFilter, type OverviewSearch } from './filter'
import { FirstPipeline } from './FirstPipeline'
import { FleetWall } from './FleetWall'
import { StripLegend } from './HealthStrip'
import { Toolbar } from './Toolbar'
import { Verdict } from './Verdict'
import { usePipelines } from './usePipelines'
import classes from './fleet.module.css'

/** The past changes slowly. */
const HISTORY_MS = 60_000

/** Every pipeline at a glance: what requires action first, each with its last 24 hours. */
export function FleetPage() {
  const { pipelines, error, refetch } = usePipelines()
  const past = useQuery({ ...fleetQuery, refetchInterval: HISTORY_MS })
  const histories = useDeferredValue(past.data)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Fleet"
        beside={pipelines && pipelines.length > 0 && <Summary pipelines={pipelines} />}
      />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {past.error && !error && <ErrorNote error={past.error} onRetry={() => void past.refetch()} />}
      {!pipelines && !error && <Loading rows={8} />}
      {pipelines && past.isPending && <Loading rows={1} label="Loading the last 24 hours" />}
      {pipelines &&
        (pipelines.length === 0 ? <FirstPipeline /> : <Fleet pipelines={pipelines} past={histories} />)}
    </div>
  )
}

function Summary({ pipelines }: { pipelines: Pipeline[] }) {
  return (
    <>
      <Verdict pipelines={pipelines} />
      <span className="dim">{plural(pipelines.length, 'pipeline')}</span>
    </>
  )
}

function Fleet({ pipelines, past }: { pipelines: Pipeline[]; past: FleetPipeline[] | undefined }) {
  const search = useSearch({ from: '/fleet' })
  const navigate = useNavigate({ from: '/fleet' })
  const { favourites } = useFavourites()
  const setSearch = useCallback(
    (next: OverviewSearch) => void navigate({ search: next, replace: true }),
    [navigate],
  )
  const histories = useMemo(() => new Map(past?.map(({ name, history }) => [name, history])), [past])
  const shown = useMemo(
    () => sortPipelines(filterPipelines(pipelines, search, favourites), search),
    [pipelines, search, favourites],
  )
  return (
    <>
      <Toolbar pipelines={pipelines} search={search} onChange={setSearch} />
      <StripLegend />
      {shown.length === 0 ? (
        <Empty title="No pipeline matches the filter">
          <Button variant="default" mt={6} onClick={() => setSearch(withoutFilter(search))}>
            Clear filter
          </Button>
        </Empty>
      ) : (
        <FleetWall pipelines={shown} histories={histories} group={search.group} />
      )}
    </>
  )
}
