import { IconCircleCheck, IconCircleX } from '@tabler/icons-react'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { EnginePage } from '../EngineSteps'
import { proofOf, type ProofCheck } from '../evidence'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** Everything that makes a pause a proven one, each with what was seen. */
export function ProofPage(props: StepProps) {
  const checks = proofOf(props.migration)
  return (
    <EnginePage {...props} page="proof">
      <Panel title="Pause verification" note="no component changes before every check passes" flush>
        {checks.length === 0 ? (
          <Empty title="No checks have run yet" />
        ) : (
          <ul className={classes.checks}>
            {checks.map((check) => (
              <ProofItem key={check.name} check={check} />
            ))}
          </ul>
        )}
      </Panel>
    </EnginePage>
  )
}

function ProofItem({ check: { holds, words, evidence } }: { check: ProofCheck }) {
  const Shape = holds ? IconCircleCheck : IconCircleX
  return (
    <li data-tone={holds ? 'ok' : 'bad'}>
      <Shape size={16} aria-hidden style={{ color: 'var(--tone)', flex: 'none', marginTop: 2 }} />
      <div>
        <span className="visually-hidden">{holds ? 'Passed: ' : 'Failed: '}</span>
        {words}
        {evidence && <div className={classes.evidence}>{evidence}</div>}
      </div>
    </li>
  )
}
