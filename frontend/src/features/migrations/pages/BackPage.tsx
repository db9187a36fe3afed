import { Panel } from '@/components/ui/Panel'
import { refusalOf } from '../choices'
import { DeedButton } from '../DeedButton'
import { EnginePage } from '../EngineSteps'
import type { StepProps } from './props'

/** The way back, step by step; where it is stuck, what a person can choose. */
export function BackPage(props: StepProps) {
  const { migration, readOnly } = props
  return (
    <EnginePage {...props} page="back">
      {migration.stage === 'NEEDS_ATTENTION' && (
        <Panel title="A person has to choose" note="or take it back, or close it, below">
          <DeedButton
            migration={migration}
            deed="advance"
            reason={readOnly ?? refusalOf(migration, 'advance')}
          >
            Try the failed step again
          </DeedButton>
        </Panel>
      )}
    </EnginePage>
  )
}
