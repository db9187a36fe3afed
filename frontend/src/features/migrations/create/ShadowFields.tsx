import { NumberInput, Select } from '@mantine/core'
import { Panel } from '@/components/ui/Panel'
import type { ShadowDraft } from './draft'
import classes from '../migrations.module.css'

const BY: { value: ShadowDraft['by']; label: string }[] = [
  { value: 'none', label: 'No shadow' },
  { value: 'records', label: 'A number of records' },
  { value: 'for', label: 'A time' },
]

interface ShadowFieldsProps {
  shadow: ShadowDraft
  onChange: (shadow: ShadowDraft) => void
}

/** Whether both revisions are compared on what the old agent delivers, before it is paused. */
export function ShadowFields({ shadow, onChange }: ShadowFieldsProps) {
  const set = (change: Partial<ShadowDraft>) => onChange({ ...shadow, ...change })
  return (
    <Panel title="Shadow" note="compares both revisions before the pause; writes nothing">
      <div className={classes.fields}>
        <Select
          label="Compare"
          data={BY}
          value={shadow.by}
          allowDeselect={false}
          onChange={(by) => set({ by: by as ShadowDraft['by'] })}
        />
        {shadow.by === 'records' && (
          <NumberInput
            label="Records"
            min={1}
            max={100_000_000}
            value={shadow.records}
            onChange={(value) => set({ records: Number(value) })}
          />
        )}
        {shadow.by === 'for' && (
          <NumberInput
            label="Minutes"
            min={1}
            max={1_440}
            value={shadow.minutes}
            onChange={(value) => set({ minutes: Number(value) })}
          />
        )}
        {shadow.by !== 'none' && (
          <NumberInput
            label="Abort if more differ, percent"
            placeholder="Only inform"
            min={0}
            max={100}
            value={shadow.percent ?? ''}
            onChange={(value) => set({ percent: value === '' ? null : Number(value) })}
          />
        )}
      </div>
    </Panel>
  )
}
