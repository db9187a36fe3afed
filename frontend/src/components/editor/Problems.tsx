import { IconAlertTriangle, IconCheck, IconCircleX, IconLoader2 } from '@tabler/icons-react'
import type { Finding } from '@/api/types'
import { Guarantees } from '@/components/definitions/Guarantees'
import { ErrorNote } from '@/components/ui/Feedback'
import { FindingList } from '@/components/ui/Findings'
import { Panel } from '@/components/ui/Panel'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { plural } from '@/lib/format'
import type { ValidationState } from './useValidation'
import classes from './editor.module.css'

interface ProblemsProps {
  state: ValidationState
  text: string
  onShow: (finding: Finding) => void
  onShowField: (finding: Finding) => void
}

/** Every finding of the last check; each leads to its place in the text and to its field. */
export function Problems({ state, text, onShow, onShowField }: ProblemsProps) {
  const { findings = [], guarantees = [] } = state.validation ?? {}
  return (
    <Panel title="Findings" actions={<Verdict state={state} />} flush>
      {state.error && <ErrorNote error={state.error} onRetry={() => void state.retry()} />}
      <div className={classes.findings} aria-live="polite">
        {findings.length > 0 && <FindingList findings={findings} onShow={onShow} onShowField={onShowField} />}
        {findings.length === 0 && !state.error && <p className={classes.fine}>{quiet(state, text)}</p>}
      </div>
      {guarantees.length > 0 && <Guarantees guarantees={guarantees} />}
    </Panel>
  )
}

function quiet({ validation }: ValidationState, text: string): string {
  if (text.trim() === '') return 'The definition is empty.'
  return validation ? 'No findings. Every key and every reference is valid.' : 'Checking the definition.'
}

function Verdict({ state: { validation, pending, error } }: { state: ValidationState }) {
  if (error) return null
  if (pending || !validation) {
    return (
      <ToneBadge tone="busy" icon={IconLoader2} plain>
        checking
      </ToneBadge>
    )
  }
  if (!validation.valid) {
    return (
      <ToneBadge tone="bad" icon={IconCircleX}>
        {plural(validation.findings.length, 'finding')}
      </ToneBadge>
    )
  }
  return validation.findings.length > 0 ? (
    <ToneBadge tone="warn" icon={IconAlertTriangle}>
      {plural(validation.findings.length, 'warning')}
    </ToneBadge>
  ) : (
    <ToneBadge tone="ok" icon={IconCheck}>
      Valid
    </ToneBadge>
  )
}
