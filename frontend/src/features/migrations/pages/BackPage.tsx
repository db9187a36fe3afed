import { EnginePage } from '../EngineSteps'
import type { StepProps } from './props'

/** The way back, step by step. */
export function BackPage(props: StepProps) {
  return <EnginePage {...props} page="back" />
}
