import { Button } from '@mantine/core'
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react'
import {
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  type Dispatch,
  type ReactNode,
  type SetStateAction,
} from 'react'
import type { Pipeline } from '@/api/types'
import { Check } from '@/components/ui/Check'
import { Empty } from '@/components/ui/Feedback'
import { useDensity, type Density } from '@/lib/preferences'
import { toggled, useFavourites } from './favourites'
import { DEFAULT_SORT, type OverviewSearch, type SortKey } from './filter'
import { summaryOf, tableRows } from './grouping'
import { PipelineRow } from './PipelineRow'
import { useWindowed } from './useWindowed'
import classes from './table.module.css'

const ROW_HEIGHT: Record<Density, number> = { comfortable: 42, compact: 36 }
const OVERSCAN = 12

interface PipelineTableProps {
  pipelines: Pipeline[]
  search: OverviewSearch
  onSort: (next: OverviewSearch) => void
  selected: ReadonlySet<string>
  onSelect: Dispatch<SetStateAction<ReadonlySet<string>>>
  filtered: boolean
  onClearFilter: () => void
}

/** Every pipeline, one row each; only the rows near the window exist in the document. */
export function PipelineTable(props: PipelineTableProps) {
  const { pipelines, selected, onSelect, search } = props
  const { favourites, toggle: star } = useFavourites()
  const lines = useMemo(() => tableRows(pipelines, search.group), [pipelines, search.group])
  const density = useDensity()
  const body = useRef<HTMLTableSectionElement>(null)
  const { virtual, offset } = useWindowed(body, {
    count: lines.length,
    estimateSize: () => ROW_HEIGHT[density],
    overscan: OVERSCAN,
  })
  useLayoutEffect(() => virtual.measure(), [virtual, density])
  const rows = virtual.getVirtualItems()
  const before = (rows[0]?.start ?? offset) - offset
  const after = virtual.getTotalSize() - (rows.at(-1)?.end ?? offset) + offset
  const toggle = useCallback((name: string) => onSelect((old) => toggled(old, name)), [onSelect])
  return (
    <div className={classes.frame}>
      <table className={classes.table} aria-rowcount={lines.length + 1}>
        <caption className="visually-hidden">All pipelines</caption>
        <Head {...props} />
        <tbody ref={body}>
          <Spacer height={before} />
          {rows.map(({ index }) => {
            const line = lines[index]
            if (!line) return null
            if (line.kind === 'group') return <GroupRow key={line.title} index={index} {...line} />
            const { pipeline } = line
            const { name } = pipeline
            return (
              <PipelineRow
                key={name}
                pipeline={pipeline}
                index={index}
                selected={selected.has(name)}
                onToggle={toggle}
                favourite={favourites.has(name)}
                onStar={star}
              />
            )
          })}
          <Spacer height={after} />
        </tbody>
      </table>
      {pipelines.length === 0 && (
        <Empty title="No pipeline matches the filter">
          <Button variant="default" mt={6} onClick={props.onClearFilter}>
            Clear filter
          </Button>
        </Empty>
      )}
    </div>
  )
}

/** Columns that every window shows; a cell over more of them would make new ones. */
const COLUMNS = 4

interface GroupRowProps {
  title: string
  pipelines: Pipeline[]
  index: number
}

function GroupRow({ title, pipelines, index }: GroupRowProps) {
  return (
    <tr className={classes.group} aria-rowindex={index + 2}>
      <th colSpan={COLUMNS} scope="rowgroup">
        <span className={classes.groupTitle}>{title}</span>
        <span className="dim">{summaryOf(pipelines)}</span>
      </th>
    </tr>
  )
}

function Head({ pipelines, selected, onSelect, search, onSort }: PipelineTableProps) {
  const chosen = pipelines.filter(({ name }) => selected.has(name)).length
  const all = pipelines.length > 0 && chosen === pipelines.length
  const sort = { search, onSort }
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th className={classes.check}>
          <Check
            label="Select every listed pipeline"
            checked={all}
            mixed={chosen > 0 && !all}
            onChange={() => onSelect(all ? new Set() : new Set(pipelines.map(({ name }) => name)))}
          />
        </th>
        <SortHead by="name" {...sort}>
          Name
        </SortHead>
        <SortHead by="phase" className={classes.phase} {...sort}>
          Phase
        </SortHead>
        <SortHead by="rate" className={classes.rate} numeric {...sort}>
          Records/s
        </SortHead>
        <SortHead by="lag" className={classes.lag} numeric {...sort}>
          Lag
        </SortHead>
        <th className={classes.trend}>Last 3 min</th>
        <th className={classes.host}>Team</th>
        <th className={classes.host}>Host</th>
        <SortHead by="changed" className={classes.changed} {...sort}>
          Last change
        </SortHead>
        <th className={classes.act}>
          <span className="visually-hidden">Actions</span>
        </th>
      </tr>
    </thead>
  )
}

interface SortHeadProps {
  by: SortKey
  search: OverviewSearch
  onSort: (next: OverviewSearch) => void
  className?: string
  numeric?: boolean
  children: ReactNode
}

function SortHead({ by, search, onSort, className, numeric, children }: SortHeadProps) {
  const active = (search.sort ?? DEFAULT_SORT) === by
  const down = active && search.down === true
  const Arrow = down ? IconArrowDown : IconArrowUp
  const first = numeric ? true : undefined
  const next = active ? (search.down ? undefined : true) : first
  return (
    <th className={className} aria-sort={active ? (down ? 'descending' : 'ascending') : undefined}>
      <button
        type="button"
        className={classes.sort}
        data-numeric={numeric || undefined}
        onClick={() => onSort({ ...search, sort: by, down: next })}
      >
        {children}
        {active && <Arrow size={12} aria-hidden />}
      </button>
    </th>
  )
}

function Spacer({ height }: { height: number }) {
  if (height <= 0) return null
  return (
    <tr aria-hidden="true" className={classes.spacer}>
      <td style={{ height }} />
    </tr>
  )
}
