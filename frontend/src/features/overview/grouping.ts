import type { Pipeline } from '@/api/types'
import { urgency } from '@/domain/phases'
import { plural } from '@/lib/format'

export interface PipelineGroup {
  /** What its pipelines share; null for those that have none of it. */
  name: string | null
  pipelines: Pipeline[]
}

const LABEL = 'label:'

export function isGrouping(group: string): boolean {
  return group === 'team' || group === 'host' || (group.startsWith(LABEL) && group.length > LABEL.length)
}

/** How pipelines can be grouped, by what they have. */
export function groupings(pipelines: Pipeline[]): { value: string; label: string }[] {
  const names = new Set(pipelines.flatMap(({ labels }) => Object.keys(labels)))
  const labels = [...names].toSorted((a, b) => a.localeCompare(b))
  return [
    { value: 'team', label: 'By team' },
    { value: 'host', label: 'By host' },
    ...labels.map((name) => ({ value: LABEL + name, label: `By label ${name}` })),
  ]
}

/** Groups in the order of the most urgent of each, those without a name last; in a group the order stays. */
export function groupPipelines(pipelines: Pipeline[], group: string): PipelineGroup[] {
  const members = new Map<string | null, Pipeline[]>()
  for (const pipeline of pipelines) {
    const name = groupOf(pipeline, group)
    const found = members.get(name)
    if (found) found.push(pipeline)
    else members.set(name, [pipeline])
  }
  const groups = [...members].map(([name, found]) => ({ name, pipelines: found }))
  return groups.toSorted(
    (a, b) =>
      Number(a.name === null) - Number(b.name === null) ||
      mostUrgent(a.pipelines) - mostUrgent(b.pipelines) ||
      (a.name ?? '').localeCompare(b.name ?? '', 'en', { numeric: true }),
  )
}

export type TableRow =
  { kind: 'group'; title: string; pipelines: Pipeline[] } | { kind: 'pipeline'; pipeline: Pipeline }

/** Pipelines one below the other, with a row before each group where there are groups. */
export function tableRows(pipelines: Pipeline[], group: string | undefined): TableRow[] {
  const single = (pipeline: Pipeline): TableRow => ({ kind: 'pipeline', pipeline })
  if (group === undefined) return pipelines.map(single)
  return groupPipelines(pipelines, group).flatMap(({ name, pipelines: members }) => [
    { kind: 'group' as const, title: titleOf(name, group), pipelines: members },
    ...members.map(single),
  ])
}

/** How many pipelines a group has, and how many of them require action. */
export function summaryOf(pipelines: Pipeline[]): string {
  const urgent = pipelines.filter(({ attention }) => attention !== null).length
  const number = plural(pipelines.length, 'pipeline')
  return urgent > 0 ? `${number}, ${plural(urgent, 'requires', 'require')} action` : number
}

function groupOf(pipeline: Pipeline, group: string): string | null {
  if (group === 'team') return pipeline.team
  if (group === 'host') return pipeline.host
  return pipeline.labels[group.slice(LABEL.length)] ?? null
}

function mostUrgent(pipelines: Pipeline[]): number {
  return Math.min(...pipelines.map(urgency))
}

/** What a group is called: "Team payments", "tier: 1", "No host". */
export function titleOf(name: string | null, group: string): string {
  const key = group.startsWith(LABEL) ? group.slice(LABEL.length) : group
  if (name === null) return `No ${key}`
  return group.startsWith(LABEL) ? `${key}: ${name}` : `${key === 'team' ? 'Team' : 'Host'} ${name}`
}
