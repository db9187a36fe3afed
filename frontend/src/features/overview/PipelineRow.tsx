import { Link } from '@tanstack/react-router'
import { memo, useCallback, useEffect, useSyncExternalStore } from 'react'
import type { Phase, Pipeline } from '@/api/types'
import { Check } from '@/components/ui/Check'
import { PhaseBadge } from '@/components/ui/PhaseBadge'
import { Sparkline } from '@/components/ui/Sparkline'
import { StaleMark } from '@/components/ui/Stat'
import { Ago } from '@/components/ui/Time'
import { freshness } from '@/domain/freshness'
import { reportsFigures, wanted } from '@/domain/phases'
import { useNow } from '@/lib/clock'
import { catchUp, count, rate } from '@/lib/format'
import { samples } from '@/lib/live/samples'
import { seeding } from '@/lib/live/seeding'
import { RowActions } from './RowActions'
import { Star } from './Star'
import classes from './table.module.css'

interface PipelineRowProps {
  pipeline: Pipeline
  index: number
  selected: boolean
  onToggle: (name: string) => void
  favourite: boolean
  onStar: (name: string) => void
}

export const PipelineRow = memo(function PipelineRow({
  pipeline,
  index,
  selected,
  onToggle,
  favourite,
  onStar,
}: PipelineRowProps) {
  const { name, team, labels, host } = pipeline
  const unlike = wanted(pipeline)
  return (
    <tr className={classes.row} aria-rowindex={index + 2} data-selected={selected || undefined}>
      <td className={classes.check}>
        <Check label={`Select ${name}`} checked={selected} onChange={() => onToggle(name)} />
      </td>
      <td className={classes.name} title={inFull(pipeline)}>
        <Star name={name} on={favourite} onToggle={onStar} />
        <Link to="/pipelines/$name" params={{ name }} preload={false}>
          {name}
        </Link>
        {Object.entries(labels).map(([key, value]) => (
          <span key={key} className={classes.tag}>
            {key}:{value}
          </span>
        ))}
      </td>
      <td className={classes.phase}>
        <PhaseBadge phase={pipeline.phase} />
        {unlike && <span className={classes.wanted}>{unlike}</span>}
      </td>
      <Figures pipeline={pipeline} />
      <td className={classes.trend}>
        <Trend name={name} phase={pipeline.phase} />
      </td>
      <td className={classes.host} title={team}>
        {team}
      </td>
      <td className={classes.host} title={host ?? undefined}>
        {host ?? <span className="dim">–</span>}
      </td>
      <td className={classes.changed}>
        <Ago at={pipeline.phase_since} />
      </td>
      <td className={classes.act}>
        <RowActions pipeline={pipeline} />
      </td>
    </tr>
  )
})

/** What a narrow cell may have cut off. */
function inFull({ name, labels, description }: Pipeline): string {
  const tags = Object.entries(labels).map(([key, value]) => `${key}:${value}`)
  return [name, tags.join(' '), description].filter(Boolean).join('\n')
}

/** Rate and lag, marked where they are old. */
function Figures({ pipeline }: { pipeline: Pipeline }) {
  const fresh = freshness(pipeline, useNow())
  const { records_per_second, lag_records } = pipeline.live
  const seconds = catchUp(lag_records, records_per_second)
  return (
    <>
      <td className={classes.rate} data-stale={fresh.stale || undefined}>
        {rate(records_per_second)} <StaleMark fresh={fresh} compact />
      </td>
      <td className={classes.lag} data-stale={fresh.stale || undefined}>
        {count(lag_records)}
        {seconds && <span className={classes.catchup}>{seconds}</span>}
      </td>
    </>
  )
}

/** Rows that only fly past while you scroll do not request their history. */
const SETTLE_MS = 300

function Trend({ name, phase }: { name: string; phase: Phase }) {
  useEffect(() => {
    if (!reportsFigures(phase)) return
    const timer = setTimeout(() => seeding.want(name), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [name, phase])
  const subscribe = useCallback((listener: () => void) => samples.subscribe(name, listener), [name])
  const points = useSyncExternalStore(subscribe, () => samples.get(name))
  return <Sparkline values={points.map(({ lag_records }) => lag_records ?? 0)} />
}
