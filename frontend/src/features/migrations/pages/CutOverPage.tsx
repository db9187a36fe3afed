import { Panel } from '@/components/ui/Panel'
import { NONE } from '@/lib/format'
import { EnginePage } from '../EngineSteps'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** The old run is ended and proven over; the new one is given the pipeline: role, epoch and positions at once. */
export function CutOverPage(props: StepProps) {
  const { old_run, new_run, old_host, new_host, old_revision, new_revision } = props.migration
  const rows: [string, number | string | null, number | string | null][] = [
    ['Run', old_run, new_run],
    ['Host', old_host, new_host],
    ['Revision', old_revision, new_revision],
  ]
  return (
    <EnginePage {...props} page="cut-over">
      <Panel title="Old and new agent" note="no partition has two owners at any time">
        <dl className={classes.facts}>
          {rows.map(([name, from, to]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {from ?? NONE} <span aria-hidden>→</span>
                <span className="visually-hidden">to</span> {to ?? NONE}
              </dd>
            </div>
          ))}
        </dl>
      </Panel>
    </EnginePage>
  )
}
