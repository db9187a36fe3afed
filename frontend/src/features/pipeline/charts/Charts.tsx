import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { chartsQuery } from '@/api/charts'
import type { Charts as ChartsData } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { Panel } from '@/components/ui/Panel'
import { useShortTime } from '@/components/ui/Time'
import { serverNow } from '@/lib/clock'
import { ChartFigure } from './ChartFigure'
import { csvOf, specsOf } from './columns'
import { useCrosshair } from './crosshair'
import { MarkLane } from './MarkLane'
import { toggled } from './PartitionHeat'
import { RangeBar } from './RangeBar'
import { isLive, moved, pollOf, queryOf, ranged, spanOf, zoomed, type RangeSearch, type Span } from './range'
import { useChartSearch, type ChartSearch } from './search'
import classes from './charts.module.css'

/** Rate, lag, batch time and restarts over one axis of time, with one crosshair. */
export function Charts({ name }: { name: string }) {
  const { search, set } = useChartSearch()
  const query = useQuery({
    ...chartsQuery(name, queryOf(search)),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => pollOf(search, state.data?.step),
  })
  const { data, error, refetch, isPlaceholderData } = query
  const range = useRange(search, set)
  return (
    <Panel
      title="Charts"
      note={data && <Resolution charts={data} live={isLive(search)} />}
      actions={data && <Download name={name} charts={data} />}
    >
      <RangeBar
        search={search}
        span={spanOf(search, serverNow())}
        onRange={range.choose}
        onKey={range.onKey}
      />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      <StaleFigures query={query} every={pollOf(search, data?.step)} />
      {!data && !error && <Loading rows={10} label="Loading charts" />}
      {data && (
        <div
          aria-busy={isPlaceholderData}
          className={classes.stack}
          data-old={isPlaceholderData || undefined}
        >
          <Lines charts={data} search={search} set={set} range={range} />
        </div>
      )}
      <p id="chart-keys" className={classes.keys}>
        Drag over a chart to zoom in. Keys on a chart: arrows move the crosshair, + and − zoom, Shift and
        arrows move the range, 0 goes back to now.
      </p>
    </Panel>
  )
}

interface Range {
  choose: (next: RangeSearch) => void
  zoomTo: (span: Span) => void
  onKey: (key: string, at?: number | null) => boolean
}

const ZOOM = 0.5
const SHARE = 0.5

/** How the range changes: by a choice, by a drag, by a key. */
function useRange(search: ChartSearch, set: (next: ChartSearch, replace?: boolean) => void): Range {
  const crosshair = useCrosshair()
  return useMemo(() => {
    const rest = { tables: search.tables, heat: search.heat, order: search.order }
    const choose = (next: RangeSearch) => {
      crosshair.set(null)
      set({ ...rest, ...next }, false)
    }
    const zoomTo = (span: Span) => choose(ranged(search, span, serverNow()))
    const onKey = (key: string, at?: number | null) => {
      const span = spanOf(search, serverNow())
      if (key === '+' || key === '=') zoomTo(zoomed(span, ZOOM, at ?? undefined))
      else if (key === '-') zoomTo(zoomed(span, 1 / ZOOM, at ?? undefined))
      else if (key === '<') zoomTo(moved(span, -SHARE))
      else if (key === '>') zoomTo(moved(span, SHARE))
      else if (key === '0' || key === 'Escape') choose({ last: search.last })
      else return false
      return true
    }
    return { choose, zoomTo, onKey }
  }, [search, set, crosshair])
}

function Resolution({ charts, live }: { charts: ChartsData; live: boolean }) {
  return (
    <>
      {live ? 'up to now' : 'a range that has ended'}, {stepWords(charts.step)} a point
    </>
  )
}

function stepWords(step: number): string {
  if (step < 60) return `${step} s`
  return step < 3_600 ? `${step / 60} min` : `${step / 3_600} h`
}

interface LinesProps {
  charts: ChartsData
  search: ChartSearch
  set: (next: ChartSearch) => void
  range: Range
}

function Lines({ charts, search, set, range }: LinesProps) {
  const short = useShortTime()
  const specs = useMemo(() => specsOf(charts), [charts])
  const times = useMemo(() => charts.at.map((at) => Date.parse(at) / 1_000), [charts.at])
  const span = useMemo(
    () => ({ from: Date.parse(charts.since) / 1_000, to: Date.parse(charts.until) / 1_000 }),
    [charts.since, charts.until],
  )
  const marks = useMemo(() => charts.marks.map(({ at }) => Date.parse(at) / 1_000), [charts.marks])
  const onTable = useCallback(
    (key: string, shown: boolean) => set({ ...search, tables: toggled(search.tables, key, shown) }),
    [search, set],
  )
  return (
    <>
      <MarkLane marks={charts.marks} span={span} leftOut={charts.marks_left_out} />
      {specs.map((spec) => (
        <ChartFigure
          key={spec.key}
          {...{ spec, charts, times, span, marks, onTable, range }}
          asTable={search.tables?.includes(spec.key) ?? false}
          when={short}
        />
      ))}
    </>
  )
}

function Download({ name, charts }: { name: string; charts: ChartsData }) {
  const save = () => {
    const url = URL.createObjectURL(new Blob([csvOf(charts)], { type: 'text/csv' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `${name}-charts.csv`
    link.click()
    URL.revokeObjectURL(url)
  }
  return (
    <Button variant="default" leftSection={<IconDownload size={14} aria-hidden />} onClick={save}>
      CSV
    </Button>
  )
}
