import type { ComponentType } from 'react'
import { ApprovePage } from './pages/ApprovePage'
import { BackPage } from './pages/BackPage'
import { ChangePage } from './pages/ChangePage'
import { CommitPage } from './pages/CommitPage'
import { CutOverPage } from './pages/CutOverPage'
import { PausePage } from './pages/PausePage'
import { PlanPage } from './pages/PlanPage'
import { PreflightPage } from './pages/PreflightPage'
import { ProofPage } from './pages/ProofPage'
import { ReportPage } from './pages/ReportPage'
import { ShadowPage } from './pages/ShadowPage'
import { SnapshotPage } from './pages/SnapshotPage'
import { VerifyPage } from './pages/VerifyPage'
import type { StepProps } from './pages/props'
import type { WizardStep } from './steps'

export const STEP_PAGES: Record<WizardStep, ComponentType<StepProps>> = {
  change: ChangePage,
  plan: PlanPage,
  approve: ApprovePage,
  preflight: PreflightPage,
  shadow: ShadowPage,
  pause: PausePage,
  proof: ProofPage,
  snapshot: SnapshotPage,
  'cut-over': CutOverPage,
  verify: VerifyPage,
  commit: CommitPage,
  back: BackPage,
  report: ReportPage,
}
