import { IconAlertTriangle, IconCheck, IconHelpCircle, IconProgress, type Icon } from '@tabler/icons-react'
import type { Condition, Pipeline, PipelineStatus } from '@/api/types'
import { useShortTime } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { conditionLabel, movement } from '@/domain/headline'
import { freshness } from '@/domain/freshness'
import { wanted, type Tone } from '@/domain/phases'
import { useNow } from '@/lib/clock'
import classes from './pipeline.module.css'

interface HeadlineProps {
  pipeline: Pipeline
  status: PipelineStatus | undefined
}

/** The state in the words of the server, what moves right now, and the conditions. */
export function Headline({ pipeline, status }: HeadlineProps) {
  const time = useShortTime()
  const conditions = status?.conditions ?? []
  const { stale } = freshness(pipeline, useNow())
  const moves = movement(pipeline, stale ? time(pipeline.live.as_of) : null)
  const unlike = wanted(pipeline)
  return (
    <>
      <p className={classes.sentence} data-testid="headline">
        {pipeline.headline} {moves}
        <span className="dim"> Since {time(pipeline.phase_since)}.</span>
        {unlike && <span className="dim"> ({unlike})</span>}
      </p>
      <div className={classes.headline}>
        <Conditions conditions={conditions} />
        <span className="dim">Team {pipeline.team}</span>
        <Labels labels={pipeline.labels} />
        {pipeline.description && <span className="dim">{pipeline.description}</span>}
      </div>
    </>
  )
}

const LOOKS: Record<Condition['status'], { tone: Tone; icon: Icon }> = {
  True: { tone: 'ok', icon: IconCheck },
  False: { tone: 'bad', icon: IconAlertTriangle },
  Unknown: { tone: 'idle', icon: IconHelpCircle },
}

/** A change in progress is no fault, so an unstable pipeline, or a standby that starts, is not shown in red. */
function isChange({ type, status, reason }: Condition): boolean {
  const changing = type === 'Stable' || (type === 'Standby' && reason !== 'refused')
  return changing && status === 'False'
}

function look(condition: Condition): { tone: Tone; icon: Icon } {
  if (isChange(condition)) return { tone: 'busy', icon: IconProgress }
  const { tone, icon } = LOOKS[condition.status]
  return { tone: condition.type === 'Output' && tone === 'bad' ? 'warn' : tone, icon }
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  return (
    <ul className={classes.conditions} aria-label="Conditions">
      {conditions.map((condition) => (
        <li key={condition.type}>
          <ToneBadge {...look(condition)} title={condition.message || condition.reason}>
            {conditionLabel(condition)}
          </ToneBadge>
        </li>
      ))}
    </ul>
  )
}

function Labels({ labels }: { labels: Record<string, string> }) {
  return (
    <span className={classes.labels}>
      {Object.entries(labels).map(([key, value]) => (
        <span key={key} className={classes.label}>
          {key}:{value}
        </span>
      ))}
    </span>
  )
}
