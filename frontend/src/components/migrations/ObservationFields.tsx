import { NumberInput, Select } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ObservationRules } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import classes from './migrations.module.css'

const NUMBERS: {
  name: 'window' | 'band' | 'outcome_band' | 'dead_letters' | 'lag_slack' | 'crashes'
  label: string
  max?: number
  step?: number
}[] = [
  { name: 'window', label: 'Observation window, seconds', max: 86_400 },
  { name: 'band', label: 'Minimum share of the previous rate', max: 1, step: 0.1 },
  { name: 'outcome_band', label: 'Minimum share of the expected outcome', max: 1, step: 0.1 },
  { name: 'dead_letters', label: 'Additional dead letters allowed' },
  { name: 'lag_slack', label: 'Additional lag allowed, records' },
  { name: 'crashes', label: 'Restarts allowed' },
]

const ASK = { value: 'ask', label: 'Request a decision' }

const CHOICES: { name: 'then' | 'otherwise'; label: string; data: { value: string; label: string }[] }[] = [
  {
    name: 'then',
    label: 'If all checks pass',
    data: [{ value: 'commit', label: 'Commit automatically' }, ASK],
  },
  {
    name: 'otherwise',
    label: 'If a check fails',
    data: [{ value: 'roll_back', label: 'Roll back automatically' }, ASK],
  },
]

interface ObservationFieldsProps {
  title: string
  rules: ObservationRules
  onChange: (rules: ObservationRules) => void
  children?: ReactNode
}

/** How a new agent is verified; folded away, since the default rules are sensible. */
export function ObservationFields({ title, rules, onChange, children }: ObservationFieldsProps) {
  const set = (change: Partial<ObservationRules>) => onChange({ ...rules, ...change })
  return (
    <Disclosure label={title}>
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
          {CHOICES.map(({ name, label, data }) => (
            <Select
              key={name}
              label={label}
              data={data}
              value={rules[name]}
              onChange={(value) => set({ [name]: value })}
            />
          ))}
        </div>
        {children}
      </div>
    </Disclosure>
  )
}
