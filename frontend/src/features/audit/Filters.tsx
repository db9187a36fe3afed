import { Button, TextInput } from '@mantine/core'
import type { AuditFilter } from '@/api/audit'
import { FilterInput } from '@/components/ui/FilterInput'
import { useTimeZone } from '@/lib/preferences'
import { instantOf, minuteOf } from '@/lib/time'
import classes from './audit.module.css'

interface FiltersProps {
  filter: AuditFilter
  onChange: (next: AuditFilter) => void
}

const WORDS = [
  ['text', 'Text', 'Any text'],
  ['actor', 'User', 'User'],
  ['action', 'Action', 'Action, or begin: secret.'],
  ['object', 'Object', 'Object: name or id'],
  ['pipeline', 'Pipeline', 'Pipeline'],
  ['team', 'Team', 'Team'],
  ['token', 'Token', 'Token: its prefix'],
  ['outcome', 'Outcome', 'Outcome'],
] as const

const TIMES = [
  ['since', 'From'],
  ['until', 'Until'],
] as const

/** What narrows the list and the exports; each part lives in the address. */
export function Filters({ filter, onChange }: FiltersProps) {
  const zone = useTimeZone()
  const narrowed = Object.values(filter).some((value) => value !== undefined)
  return (
    <div className={classes.filters} role="group" aria-label="Filters">
      {WORDS.map(([name, label, placeholder]) => (
        <FilterInput
          key={name}
          label={label}
          placeholder={placeholder}
          value={filter[name] ?? ''}
          onChange={(value) => onChange({ ...filter, [name]: value || undefined })}
        />
      ))}
      {TIMES.map(([name, label]) => (
        <TextInput
          key={name}
          className={classes.instant}
          type="datetime-local"
          aria-label={`${label} (${zone === 'utc' ? 'UTC' : 'local time'})`}
          leftSection={<span className="dim">{label}</span>}
          leftSectionWidth={46}
          value={filter[name] ? minuteOf(filter[name], zone) : ''}
          onChange={(event) => onChange({ ...filter, [name]: instantOf(event.currentTarget.value, zone) })}
        />
      ))}
      {narrowed && (
        <Button variant="subtle" color="gray" className={classes.instant} onClick={() => onChange({})}>
          Clear filters
        </Button>
      )}
    </div>
  )
}
