import { Checkbox } from '@mantine/core'
import { ObservationFields } from '@/components/migrations/ObservationFields'
import { GATE_LABELS, GATES } from '@/domain/migrations'
import type { Draft } from './draft'
import classes from '../migrations.module.css'

interface RuleFieldsProps {
  draft: Draft
  onChange: (change: Partial<Draft>) => void
}

/** How the new agent is verified, and where approval is required. */
export function RuleFields({ draft: { rules, gates }, onChange }: RuleFieldsProps) {
  return (
    <ObservationFields
      title="Verification rules and approval gates"
      rules={rules}
      onChange={(changed) => onChange({ rules: changed })}
    >
      <Checkbox.Group
        label="Approval gates"
        value={gates}
        onChange={(chosen) => onChange({ gates: GATES.filter((gate) => chosen.includes(gate)) })}
      >
        <div className={classes.fields}>
          {GATES.map((gate) => (
            <Checkbox key={gate} value={gate} label={GATE_LABELS[gate]} />
          ))}
        </div>
      </Checkbox.Group>
    </ObservationFields>
  )
}
