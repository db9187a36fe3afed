import { CloseButton, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch, IconTag } from '@tabler/icons-react'
import { useEffect, useMemo, useState } from 'react'
import type { Pipeline } from '@/api/types'
import { PhaseIcon } from '@/components/ui/PhaseBadge'
import { PHASES } from '@/domain/phases'
import { count } from '@/lib/format'
import { allLabels, countPhases, phasesOf, togglePhase, type OverviewSearch } from './filter'
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
      <TextFilter value={search.q ?? ''} onChange={(q) => onChange({ ...search, q: q || undefined })} />
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
      <PhaseFilter pipelines={pipelines} search={search} onChange={onChange} />
    </div>
  )
}

function PhaseFilter({ pipelines, search, onChange }: ToolbarProps) {
  const chosen = phasesOf(search)
  return (
    <div className={classes.phases} role="group" aria-label="Filter by phase">
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
          {PHASES[phase].word}
          <span className={classes.count}>{count(n)}</span>
        </button>
      ))}
    </div>
  )
}

const TYPING_PAUSE_MS = 150

/** Types at once, and reaches the address when the typing pauses. */
function TextFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value)
  const settle = useDebouncedCallback(onChange, TYPING_PAUSE_MS)
  useEffect(() => setText(value), [value])
  const type = (next: string) => {
    setText(next)
    settle(next)
  }
  return (
    <TextInput
      className={classes.text}
      type="search"
      aria-label="Filter by name, description, label or host"
      placeholder="Filter by name, label or host"
      leftSection={<IconSearch size={14} aria-hidden />}
      rightSection={text && <CloseButton size="xs" aria-label="Clear the filter" onClick={() => type('')} />}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
    />
  )
}
