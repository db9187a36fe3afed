import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import type { Pipeline } from '@/api/types'
import { PhaseBadge } from '@/components/ui/PhaseBadge'
import { StaleMark } from '@/components/ui/Stat'
import { Ago } from '@/components/ui/Time'
import { freshness } from '@/domain/freshness'
import { PHASES, wanted } from '@/domain/phases'
import { useNow } from '@/lib/clock'
import { compactCount, rate } from '@/lib/format'
import { whyAttention } from './attention'
import { HealthStrip } from './HealthStrip'
import { Star } from './Star'
import type { History } from './strip'
import classes from './fleet.module.css'

interface FleetTileProps {
  pipeline: Pipeline
  /** Undefined until it is known. */
  history: History | undefined
  favourite: boolean
  onStar: (name: string) => void
}

/** One pipeline of the wall: how it is, why it requires action, and how it was. */
export const FleetTile = memo(function FleetTile({ pipeline, history, favourite, onStar }: FleetTileProps) {
  const { name, phase, attention, phase_since } = pipeline
  const unlike = wanted(pipeline)
  return (
    <article className={classes.tile} data-tone={toneOf(pipeline)} aria-label={name}>
      <div className={classes.head}>
        <Link to="/pipelines/$name" params={{ name }} className={classes.name} preload={false}>
          {name}
        </Link>
        <Star name={name} on={favourite} onToggle={onStar} />
      </div>
      <div className={classes.state}>
        <PhaseBadge phase={phase} />
        {unlike && <span className="dim">{unlike}</span>}
        <span className={classes.since}>
          <Ago at={phase_since} />
        </span>
      </div>
      {attention !== null && <p className={classes.why}>{whyAttention(pipeline)}</p>}
      {history ? <HealthStrip name={name} history={history} /> : <div className={classes.noStrip} />}
      <Figures pipeline={pipeline} />
    </article>
  )
})

/** Only what was observed colours a tile: an unsupervised or unknown pipeline is not known to be well or bad. */
function toneOf({ phase, supervised }: Pipeline) {
  return supervised && phase !== 'UNKNOWN' ? PHASES[phase].tone : 'warn'
}

/** Rate and lag, marked where they are old. */
function Figures({ pipeline }: { pipeline: Pipeline }) {
  const fresh = freshness(pipeline, useNow())
  const { records_per_second, lag_records } = pipeline.live
  return (
    <dl className={classes.figures} data-stale={fresh.stale || undefined}>
      <div>
        <dt>Records/s</dt>
        <dd>{rate(records_per_second)}</dd>
      </div>
      <div>
        <dt>Lag</dt>
        <dd>{compactCount(lag_records)}</dd>
      </div>
      <StaleMark fresh={fresh} />
    </dl>
  )
}
