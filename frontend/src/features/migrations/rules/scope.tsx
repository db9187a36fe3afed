import { SegmentedControl, TextInput } from '@mantine/core'
import classes from '../migrations.module.css'

/** Of what a rule is: of everything, of a label, or of one pipeline. */
export interface Scope {
  of: 'all' | 'label' | 'pipeline'
  name: string
}

export const EVERYTHING: Scope = { of: 'all', name: '' }

/** As REST takes it. */
export function scopeBody({ of, name }: Scope): { label: string; pipeline: string } {
  const trimmed = name.trim()
  return { label: of === 'label' ? trimmed : '', pipeline: of === 'pipeline' ? trimmed : '' }
}

export function scopeMissing({ of, name }: Scope): string | null {
  if (of === 'all' || name.trim() !== '') return null
  return of === 'label' ? 'Enter a label first.' : 'Enter the name of a pipeline first.'
}

export function scopeInWords({ label, pipeline }: { label: string; pipeline: string }): string {
  if (pipeline) return pipeline
  return label ? `label ${label}` : 'every pipeline'
}

export function ScopeFields({ scope, onChange }: { scope: Scope; onChange: (scope: Scope) => void }) {
  return (
    <div className={classes.form}>
      <SegmentedControl
        aria-label="Scope"
        data={[
          { value: 'all', label: 'Every pipeline' },
          { value: 'label', label: 'Label' },
          { value: 'pipeline', label: 'Pipeline' },
        ]}
        value={scope.of}
        onChange={(of) => onChange({ of: of as Scope['of'], name: '' })}
      />
      {scope.of !== 'all' && (
        <TextInput
          label={scope.of === 'label' ? 'Label' : 'Pipeline'}
          description={scope.of === 'label' ? 'NAME:VALUE, or NAME for any value' : undefined}
          value={scope.name}
          onChange={(event) => onChange({ ...scope, name: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </div>
  )
}
