import type { Phase, Pipeline } from '@/api/types'
import { PHASE_ORDER, PHASES, urgency } from '@/domain/phases'
import { isGrouping } from './grouping'

export type SortKey = 'name' | 'phase' | 'rate' | 'lag' | 'changed'

/** What the address says about the overview. */
export interface OverviewSearch {
  q?: string
  phase?: string
  label?: string
  /** `team`, `host`, or `label:KEY`. */
  group?: string
  favourites?: true
  sort?: SortKey
  down?: true
}

export const DEFAULT_SORT: SortKey = 'phase'
const SORT_KEYS: SortKey[] = ['name', 'phase', 'rate', 'lag', 'changed']

export function readOverviewSearch(search: Record<string, unknown>): OverviewSearch {
  const text = (value: unknown) => (value == null || value === '' ? undefined : String(value))
  const flag = (value: unknown) => (value === true || value === 'true' ? true : undefined)
  const group = text(search.group)
  return {
    q: text(search.q),
    phase: text(search.phase),
    label: text(search.label),
    group: group !== undefined && isGrouping(group) ? group : undefined,
    favourites: flag(search.favourites),
    sort: SORT_KEYS.find((key) => key === search.sort),
    down: flag(search.down),
  }
}

export function phasesOf(search: OverviewSearch): Phase[] {
  const asked = (search.phase ?? '').split(',')
  return PHASE_ORDER.filter((phase) => asked.includes(phase))
}

export function togglePhase(search: OverviewSearch, phase: Phase): OverviewSearch {
  const now = phasesOf(search)
  const next = now.includes(phase) ? now.filter((other) => other !== phase) : [...now, phase]
  return { ...search, phase: next.join(',') || undefined }
}

export function isFiltered({ q, phase, label, favourites }: OverviewSearch): boolean {
  return Boolean(q || phase || label || favourites)
}

/** The same without what narrows it. */
export function withoutFilter({ group, sort, down }: OverviewSearch): OverviewSearch {
  return { group, sort, down }
}

const NONE: ReadonlySet<string> = new Set()

export function filterPipelines(
  pipelines: Pipeline[],
  search: OverviewSearch,
  favourites: ReadonlySet<string> = NONE,
): Pipeline[] {
  const phases = phasesOf(search)
  const words = (search.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return pipelines.filter(
    (pipeline) =>
      (phases.length === 0 || phases.includes(pipeline.phase)) &&
      (!search.favourites || favourites.has(pipeline.name)) &&
      (!search.label || hasLabel(pipeline, search.label)) &&
      words.every((word) => searchText(pipeline).includes(word)),
  )
}

/** A label filter is `key:value`, or `key` alone for any value. */
function hasLabel(pipeline: Pipeline, filter: string): boolean {
  const [key = '', value] = filter.split(/:(.*)/s)
  const found = pipeline.labels[key]
  return found !== undefined && (value === undefined || found === value)
}

function searchText(pipeline: Pipeline): string {
  const labels = Object.entries(pipeline.labels).map(([key, value]) => `${key}:${value}`)
  return [
    pipeline.name,
    pipeline.team,
    pipeline.description,
    pipeline.host ?? '',
    PHASES[pipeline.phase].label,
    ...labels,
  ]
    .join('\n')
    .toLowerCase()
}

/** Made once: `localeCompare` with options makes a collator for every comparison. */
const byName = new Intl.Collator('en', { numeric: true })
let places: ReadonlyMap<string, number> = new Map()

/** The places of names in their order, kept: lists are sorted anew four times a second, and hardly ever have new names. */
function placesOf(pipelines: Pipeline[]): ReadonlyMap<string, number> {
  if (!pipelines.every(({ name }) => places.has(name))) {
    const names = pipelines.map(({ name }) => name).toSorted((a, b) => byName.compare(a, b))
    places = new Map(names.map((name, place) => [name, place]))
  }
  return places
}

/** What needs action is first, what is stopped last. */
const rank = ({ phase, attention }: Pipeline) =>
  urgency({ attention }) * PHASE_ORDER.length +
  (phase === 'STOPPED' ? PHASE_ORDER.length : PHASE_ORDER.indexOf(phase))

const COMPARE: Record<Exclude<SortKey, 'name'>, (a: Pipeline, b: Pipeline) => number> = {
  phase: (a, b) => rank(a) - rank(b),
  rate: (a, b) => (a.live.records_per_second ?? -1) - (b.live.records_per_second ?? -1),
  lag: (a, b) => (a.live.lag_records ?? -1) - (b.live.lag_records ?? -1),
  changed: (a, b) => Date.parse(a.phase_since) - Date.parse(b.phase_since),
}

export function sortPipelines(pipelines: Pipeline[], search: OverviewSearch): Pipeline[] {
  const of = placesOf(pipelines)
  const compareNames = (a: Pipeline, b: Pipeline) => (of.get(a.name) ?? 0) - (of.get(b.name) ?? 0)
  const by = search.sort ?? DEFAULT_SORT
  const compare = by === 'name' ? compareNames : COMPARE[by]
  const sign = search.down ? -1 : 1
  return pipelines.toSorted((a, b) => sign * compare(a, b) || compareNames(a, b))
}

/** How many pipelines are in each phase, in a steady order, without the empty phases. */
export function countPhases(pipelines: Pipeline[]): { phase: Phase; count: number }[] {
  const counts = new Map<Phase, number>()
  for (const { phase } of pipelines) counts.set(phase, (counts.get(phase) ?? 0) + 1)
  return PHASE_ORDER.flatMap((phase) => {
    const count = counts.get(phase)
    return count ? [{ phase, count }] : []
  })
}

export function allLabels(pipelines: Pipeline[]): string[] {
  const labels = new Set<string>()
  for (const pipeline of pipelines) {
    for (const [key, value] of Object.entries(pipeline.labels)) labels.add(`${key}:${value}`)
  }
  return [...labels].toSorted((a, b) => a.localeCompare(b))
}
