import { NumberInput, Select } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ObservationRules } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import classes from './migrations.module.css'

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

const ASK = { value: 'ask', label: 'Ask a person' }

const CHOICES: { name: 'then' | 'otherwise'; label: string; data: { value: string; label: string }[] }[] = [
  { name: 'then', label: 'When all is well', data: [{ value: 'commit', label: 'Commit by itself' }, ASK] },
  {
    name: 'otherwise',
    label: 'When something is not',
    data: [{ value: 'roll_back', label: 'Roll back by itself' }, ASK],
  },
]

interface ObservationFieldsProps {
  title: string
  rules: ObservationRules
  onChange: (rules: ObservationRules) => void
  children?: ReactNode
}

/** How a new side is judged; folded away, since the rules that stand are sensible. */
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
