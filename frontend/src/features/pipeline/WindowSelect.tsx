import { Select } from '@mantine/core'
import { WINDOWS } from './windows'

interface WindowSelectProps {
  minutes: number
  onChange: (minutes: number) => void
}

/** The time that figures are of. */
export function WindowSelect({ minutes, onChange }: WindowSelectProps) {
  return (
    <Select
      aria-label="Time of the figures"
      data={WINDOWS}
      value={String(minutes)}
      allowDeselect={false}
      w={150}
      onChange={(value) => onChange(Number(value))}
    />
  )
}
