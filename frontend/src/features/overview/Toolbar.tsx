import { Select } from '@mantine/core'
import { IconStar, IconTag } from '@tabler/icons-react'
import { useMemo } from 'react'
import type { Pipeline } from '@/api/types'
import { FilterInput } from '@/components/ui/FilterInput'
import { PhaseIcon } from '@/components/ui/PhaseBadge'
import { PHASES } from '@/domain/phases'
import { count } from '@/lib/format'
import { allLabels, countPhases, phasesOf, togglePhase, type OverviewSearch } from './filter'
import { GroupBy } from './GroupBy'
import { ViewsButton } from './ViewsButton'
import classes from './toolbar.module.css'

interface ToolbarProps {
  pipelines: Pipeline[]
  search: OverviewSearch
  onChange: (next: OverviewSearch) => void
}

/** The filters; each lives in the address. */
export function Toolbar({ pipelines, search, onChange }: ToolbarProps) {
  const labels = useMemo(() => allLabels(pipelines), [pipelines])
  return (
    <div className={classes.bar}>
      <FilterInput
        className={classes.text}
        label="Filter by name, team, description, label or host"
        placeholder="Filter by name, team, label or host"
        value={search.q ?? ''}
        onChange={(q) => onChange({ ...search, q: q || undefined })}
      />
      {labels.length > 0 && (
        <Select
          className={classes.label}
          aria-label="Filter by label"
          placeholder="Any label"
          leftSection={<IconTag size={14} aria-hidden />}
          data={labels}
          value={search.label ?? null}
          onChange={(label) => onChange({ ...search, label: label ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Any label' }}
        />
      )}
      <GroupBy
        pipelines={pipelines}
        group={search.group}
        onChange={(group) => onChange({ ...search, group })}
      />
      <ViewsButton />
      <div className={classes.phases} role="group" aria-label="Filter by phase">
        <button
          type="button"
          className={classes.phase}
          data-tone="busy"
          aria-pressed={search.favourites ?? false}
          onClick={() => onChange({ ...search, favourites: search.favourites ? undefined : true })}
        >
          <IconStar size={13} aria-hidden />
          Favourites
        </button>
        <PhaseFilter pipelines={pipelines} search={search} onChange={onChange} />
      </div>
    </div>
  )
}

function PhaseFilter({ pipelines, search, onChange }: ToolbarProps) {
  const chosen = phasesOf(search)
  return (
    <>
      {countPhases(pipelines).map(({ phase, count: n }) => (
        <button
          key={phase}
          type="button"
          className={classes.phase}
          data-tone={PHASES[phase].tone}
          aria-pressed={chosen.includes(phase)}
          onClick={() => onChange(togglePhase(search, phase))}
        >
          <PhaseIcon phase={phase} size={13} />
          {PHASES[phase].label}
          <span className={classes.count}>{count(n)}</span>
        </button>
      ))}
    </>
  )
}
