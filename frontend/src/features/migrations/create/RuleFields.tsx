import { Button, Checkbox, Collapse, NumberInput, Select } from '@mantine/core'
import { useId, useState } from 'react'
import { GATE_WORDS, GATES } from '@/domain/migrations'
import type { Draft, Rules } from './draft'
import classes from '../migrations.module.css'

interface RuleFieldsProps {
  draft: Draft
  onChange: (change: Partial<Draft>) => void
}

const NUMBERS: {
  name: 'window' | 'band' | 'dead_letters' | 'lag_slack' | 'crashes'
  label: string
  max?: number
  step?: number
}[] = [
  { name: 'window', label: 'Observed for, seconds', max: 86_400 },
  { name: 'band', label: 'Least share of the rate before', max: 1, step: 0.1 },
  { name: 'dead_letters', label: 'More dead letters allowed' },
  { name: 'lag_slack', label: 'More lag allowed, records' },
  { name: 'crashes', label: 'Restarts allowed' },
]

/** How the new side is judged, and where a person is asked; folded away, since the rules that stand are sensible. */
export function RuleFields({ draft, onChange }: RuleFieldsProps) {
  const [open, setOpen] = useState(false)
  const id = useId()
  const { rules, gates } = draft
  const set = (change: Partial<Rules>) => onChange({ rules: { ...rules, ...change } })
  return (
    <div>
      <Button
        variant="subtle"
        color="gray"
        c="dimmed"
        px={6}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        Rules of the observation, and where a person is asked
      </Button>
      <Collapse expanded={open} id={id}>
        {open && (
          <div className={classes.form}>
            <div className={classes.fields}>
              {NUMBERS.map(({ name, label, max, step }) => (
                <NumberInput
                  key={name}
                  size="xs"
                  label={label}
                  min={0}
                  max={max}
                  step={step}
                  value={rules[name]}
                  onChange={(value) => set({ [name]: Number(value) })}
                />
              ))}
              <Select
                label="When all is well"
                data={[
                  { value: 'commit', label: 'Commit by itself' },
                  { value: 'ask', label: 'Ask a person' },
                ]}
                value={rules.then}
                onChange={(value) => set({ then: value as Rules['then'] })}
              />
              <Select
                label="When something is not"
                data={[
                  { value: 'roll_back', label: 'Roll back by itself' },
                  { value: 'ask', label: 'Ask a person' },
                ]}
                value={rules.otherwise}
                onChange={(value) => set({ otherwise: value as Rules['otherwise'] })}
              />
            </div>
            <Checkbox.Group
              label="Ask a person"
              value={gates}
              onChange={(chosen) => onChange({ gates: GATES.filter((gate) => chosen.includes(gate)) })}
            >
              <div className={classes.fields}>
                {GATES.map((gate) => (
                  <Checkbox key={gate} value={gate} label={GATE_WORDS[gate]} />
                ))}
              </div>
            </Checkbox.Group>
          </div>
        )}
      </Collapse>
    </div>
  )
}
