import { NativeSelect, TextInput } from '@mantine/core'
import { useTimeZone } from '@/lib/preferences'
import { instantOf, minuteOf } from '@/lib/time'
import { KINDS, missingOf, type Pick, type PickKind } from './picks'
import classes from './picker.module.css'

interface PickFieldProps {
  /** Of what it is the new position, for screen readers. */
  of: string
  pick: Pick
  /** Where an offset begins: the position of now. */
  from: number | null
  disabled?: boolean
  kinds?: readonly PickKind[]
  onChange: (pick: Pick) => void
}

const ALL = Object.keys(KINDS) as PickKind[]

/** Where one partition, or several, continue: by what, and at which offset or time. */
export function PickField({ of, pick, from, disabled = false, kinds = ALL, onChange }: PickFieldProps) {
  const zone = useTimeZone()
  const choose = (kind: PickKind) =>
    onChange({ kind, value: kind === 'offset' && from !== null ? String(from) : '' })
  return (
    <div className={classes.pick}>
      <NativeSelect
        size="xs"
        aria-label={`New position of ${of}`}
        value={pick.kind}
        disabled={disabled}
        data={kinds.map((kind) => ({ value: kind, label: KINDS[kind] }))}
        onChange={(event) => choose(event.currentTarget.value as PickKind)}
      />
      {pick.kind === 'offset' && (
        <TextInput
          size="xs"
          aria-label={`Offset of ${of}`}
          inputMode="numeric"
          autoComplete="off"
          value={pick.value}
          error={missingOf(pick)}
          disabled={disabled}
          onChange={(event) => onChange({ ...pick, value: event.currentTarget.value.trim() })}
        />
      )}
      {pick.kind === 'time' && (
        <TextInput
          size="xs"
          type="datetime-local"
          step={1}
          aria-label={`Time of ${of}${zone === 'utc' ? ' (UTC)' : ''}`}
          value={pick.value && minuteOf(pick.value, zone)}
          error={missingOf(pick)}
          disabled={disabled}
          onChange={(event) => onChange({ ...pick, value: instantOf(event.currentTarget.value, zone) ?? '' })}
        />
      )}
    </div>
  )
}
