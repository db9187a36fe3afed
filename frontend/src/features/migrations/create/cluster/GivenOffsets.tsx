import { Button, TextInput } from '@mantine/core'
import { useQueryClient, useMutation } from '@tanstack/react-query'
import { positionsQuery } from '@/api/positions'
import type { Positions } from '@/api/types'
import { ErrorNote } from '@/components/ui/Feedback'
import { wordsAt } from '@/domain/findings'
import type { ClusterPartProps } from './KeyField'
import { type ClusterDraft, filled, offsetRow, type OffsetRow } from './draft'
import { Lines, RemoveLine } from './Lines'
import { offsetPaths } from './paths'
import classes from '../../migrations.module.css'

const FIELDS = ['topic', 'partition', 'offset'] as const

/** The offset of each partition on the new cluster, as a user knows it. */
export function GivenOffsets({ name, cluster, findings, onChange }: ClusterPartProps & { name: string }) {
  const { offsets } = cluster
  const client = useQueryClient()
  const fill = useMutation({
    mutationFn: () => client.fetchQuery(positionsQuery(name)),
    onSuccess: (found) => onChange({ offsets: withPartitions(cluster, found) }),
  })
  const set = (id: string, change: Partial<OffsetRow>) =>
    onChange({ offsets: offsets.map((row) => (row.id === id ? { ...row, ...change } : row)) })
  return (
    <Lines
      label="Offsets on the new cluster"
      description="The first record to read on the new cluster, for every partition that the source reads now"
      error={wordsAt(findings, ['spec.positions'])}
      add={
        <div className={classes.choice}>
          <Button variant="default" size="compact-xs" loading={fill.isPending} onClick={() => fill.mutate()}>
            Add all partitions
          </Button>
          <Button
            variant="default"
            size="compact-xs"
            onClick={() => onChange({ offsets: [...offsets, offsetRow()] })}
          >
            Add partition
          </Button>
        </div>
      }
    >
      {fill.error && (
        <li>
          <ErrorNote error={fill.error} />
        </li>
      )}
      {offsets.map((each, index) => (
        <li key={each.id} className={classes.line}>
          {FIELDS.map((field) => (
            <TextInput
              key={field}
              aria-label={`${LABELS[field]} ${index + 1}`}
              placeholder={LABELS[field]}
              value={each[field]}
              error={field === 'offset' && each.topic.trim() && hasWords(findings, each)}
              inputMode={field === 'topic' ? undefined : 'numeric'}
              onChange={(event) => set(each.id, { [field]: event.currentTarget.value })}
              autoComplete="off"
              spellCheck={false}
            />
          ))}
          <RemoveLine
            label={`Remove partition ${index + 1}`}
            onClick={() => onChange({ offsets: offsets.filter(({ id }) => id !== each.id) })}
          />
        </li>
      ))}
    </Lines>
  )
}

const LABELS = { topic: 'Topic on the new cluster', partition: 'Partition', offset: 'Offset' }

/** Marks the line; the words stand below all of them. */
const hasWords = (findings: ClusterPartProps['findings'], { topic, partition }: OffsetRow) =>
  wordsAt(findings, offsetPaths(topic, partition)) !== null

/** The lines as they are, and one for each partition of the source that has none. */
export function withPartitions(cluster: ClusterDraft, { partitions }: Positions): OffsetRow[] {
  const source = cluster.path?.slice('sources.'.length)
  const rows = filled(cluster.offsets)
  const seen = new Set(rows.map(({ topic, partition }) => `${topic}/${partition}`))
  for (const found of partitions.filter((each) => each.source === source)) {
    const there = cluster.topics.find(({ name }) => name === found.topic)?.value.trim() || found.topic
    const place = `${there}/${found.partition}`
    if (!seen.has(place)) rows.push(offsetRow(there, String(found.partition)))
    seen.add(place)
  }
  return rows
}
