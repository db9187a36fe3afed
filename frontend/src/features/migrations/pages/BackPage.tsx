import { EnginePage } from '../EngineSteps'
import type { StepProps } from './props'

/** The rollback, step by step. */
export function BackPage(props: StepProps) {
  return <EnginePage {...props} page="back" />
}
