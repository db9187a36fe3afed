import { Chip, Select } from '@mantine/core'
import { CATEGORIES, type EventSearch } from './categories'
import classes from './events.module.css'

interface EventFiltersProps {
  search: EventSearch
  /** The other parts of the address stay. */
  onChange: (search: EventSearch) => void
}

const KINDS = Object.values(CATEGORIES).map(({ label, kinds }) => ({ group: label, items: kinds }))

/** What the list shows: events of some categories, or of one kind. Choosing one of the two ends the other. */
export function EventFilters({ search, onChange }: EventFiltersProps) {
  return (
    <div className={classes.filters} role="group" aria-label="Which events">
      <Chip.Group
        multiple
        value={search.category?.split(',') ?? []}
        onChange={(names) => onChange({ category: names.join(',') || undefined, kind: undefined })}
      >
        {Object.entries(CATEGORIES).map(([name, { label }]) => (
          <Chip key={name} value={name} size="xs" variant="outline">
            {label}
          </Chip>
        ))}
      </Chip.Group>
      <Select
        aria-label="Kind of event"
        placeholder="Every kind"
        size="xs"
        data={withKind(search.kind)}
        value={search.kind ?? null}
        onChange={(kind) => onChange({ kind: kind ?? undefined, category: undefined })}
        searchable
        nothingFoundMessage="No such kind"
        clearable
        clearButtonProps={{ 'aria-label': 'Every kind' }}
      />
    </div>
  )
}

/** The kinds to choose from, and one that only the address names. */
function withKind(kind?: string) {
  const known = kind === undefined || KINDS.some(({ items }) => items.includes(kind))
  return known ? KINDS : [{ group: 'Chosen', items: [kind] }, ...KINDS]
}
