import { IconAlertTriangle, IconCheck, IconHelpCircle, type Icon } from '@tabler/icons-react'
import type { Condition, Pipeline, PipelineStatus } from '@/api/types'
import { useShortTime } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { conditionWord, headline } from '@/domain/headline'
import { wanted, type Tone } from '@/domain/phases'
import classes from './pipeline.module.css'

interface HeadlineProps {
  pipeline: Pipeline
  status: PipelineStatus | undefined
}

/** The state in one sentence, what the server adds to it, and the conditions. */
export function Headline({ pipeline, status }: HeadlineProps) {
  const time = useShortTime()
  const conditions = status?.conditions ?? []
  const sentence = headline(pipeline, conditions, time(pipeline.phase_since))
  const unlike = wanted(pipeline)
  const said = pipeline.phase === 'RUNNING' ? '' : pipeline.phase_message
  return (
    <>
      <p className={classes.sentence} data-testid="headline">
        {sentence}
        {unlike && <span className="dim"> It {unlike}.</span>}
      </p>
      {said && <p className={classes.message}>{said}</p>}
      <div className={classes.headline}>
        <Conditions conditions={conditions} />
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

/** A change in progress is no fault, so an unstable pipeline is not shown in red. */
function toneOf(condition: Condition): Tone {
  return condition.type === 'Stable' && condition.status === 'False' ? 'busy' : LOOKS[condition.status].tone
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  return (
    <ul className={classes.conditions} aria-label="Conditions">
      {conditions.map((condition) => (
        <li key={condition.type}>
          <ToneBadge
            tone={toneOf(condition)}
            icon={LOOKS[condition.status].icon}
            title={condition.message || condition.reason}
          >
            {conditionWord(condition)}
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
