import type { MantineColorScheme } from '@mantine/core'
import type { Pipeline } from '@/api/types'
import { PHASES, urgency } from '@/domain/phases'
import { PIPELINE_TABS, type Place } from '@/lib/places'
import type { Density, TimeZone } from '@/lib/preferences'

export interface Command {
  id: string
  label: string
  description?: string
  keywords?: string[]
  run: () => void
}

export interface CommandGroup {
  group: string
  actions: Command[]
}

/** What commands do. */
export interface Doing {
  go: (to: string) => void
  showShortcuts: () => void
  setColours: (scheme: MantineColorScheme) => void
  setTimes: (zone: TimeZone) => void
  setDensity: (density: Density) => void
}

export interface Known {
  places: Place[]
  pipelines: Pipeline[]
  /** The pipeline whose page is open. */
  current: string | null
  mayOperate: boolean
}

/** Everything that the palette offers, what is near first: the parts of the open pipeline, the pages, the pipelines in
 * the order in which they need action, and the display. */
export function commandGroups(known: Known, doing: Doing): CommandGroup[] {
  const { places, pipelines, current, mayOperate } = known
  const groups = [
    { group: current ?? '', actions: current ? ofPipeline(current, mayOperate, doing) : [] },
    {
      group: 'Pages',
      actions: places.map(({ to, label }) => ({ id: to, label, run: () => doing.go(to) })),
    },
    { group: 'Create', actions: mayOperate ? creating(doing) : [] },
    { group: 'Pipelines', actions: byUrgency(pipelines).map((each) => opening(each, doing)) },
    { group: 'Display', actions: displaying(doing) },
  ]
  return groups.filter(({ actions }) => actions.length > 0)
}

/** The pipeline that an address is about; null where there is none. */
export function pipelineOf(pathname: string): string | null {
  const name = /^\/pipelines\/([^/]+)/.exec(pathname)?.[1]
  return name && name !== 'new' ? decodeURIComponent(name) : null
}

const at = (name: string) => `/pipelines/${encodeURIComponent(name)}`

function ofPipeline(name: string, mayOperate: boolean, { go }: Doing): Command[] {
  const tabs = PIPELINE_TABS.map(({ to, label }) => ({
    id: `${name} ${label}`,
    label: `${name}: ${label}`,
    run: () => go(to.replace('/pipelines/$name', at(name))),
  }))
  if (!mayOperate) return tabs
  const search = new URLSearchParams({ pipeline: name })
  const label = `${name}: New migration`
  return [...tabs, { id: label, label, run: () => go(`/migrations/new?${search}`) }]
}

function creating({ go }: Doing): Command[] {
  return [
    { id: 'new pipeline', label: 'New pipeline', run: () => go('/pipelines/new') },
    { id: 'new migration', label: 'New migration', run: () => go('/migrations/new') },
  ]
}

function byUrgency(pipelines: Pipeline[]): Pipeline[] {
  return pipelines.toSorted(
    (one, other) => urgency(one) - urgency(other) || one.name.localeCompare(other.name),
  )
}

function opening({ name, phase, host, labels }: Pipeline, { go }: Doing): Command {
  return {
    id: `pipeline ${name}`,
    label: name,
    description: host ? `${PHASES[phase].label} on ${host}` : PHASES[phase].label,
    keywords: Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    run: () => go(at(name)),
  }
}

function displaying({ setColours, setTimes, setDensity, showShortcuts }: Doing): Command[] {
  return [
    { id: 'shortcuts', label: 'Keyboard shortcuts', run: showShortcuts },
    { id: 'light', label: 'Light colours', keywords: ['theme'], run: () => setColours('light') },
    { id: 'dark', label: 'Dark colours', keywords: ['theme'], run: () => setColours('dark') },
    { id: 'auto', label: 'Colours of the system', keywords: ['theme'], run: () => setColours('auto') },
    { id: 'utc', label: 'Times in UTC', keywords: ['time zone'], run: () => setTimes('utc') },
    { id: 'local', label: 'Local times', keywords: ['time zone'], run: () => setTimes('local') },
    { id: 'compact', label: 'Compact rows', keywords: ['density'], run: () => setDensity('compact') },
    {
      id: 'comfortable',
      label: 'Comfortable rows',
      keywords: ['density'],
      run: () => setDensity('comfortable'),
    },
  ]
}
