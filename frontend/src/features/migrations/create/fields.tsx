import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { hostsQuery } from '@/api/hosts'
import { revisionsQuery } from '@/api/revisions'
import type { Finding, Host, PipelineDetail } from '@/api/types'
import { Unread } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import type { Draft } from './draft'
import { wordsAt } from '@/domain/findings'
import classes from '../migrations.module.css'

export interface FieldsProps {
  pipeline: PipelineDetail
  draft: Draft
  onChange: (change: Partial<Draft>) => void
  /** What the server finds wrong with it. */
  findings: Finding[]
}

/** Where the server finds fault with the fields of a kind; other findings stand in a list. */
export const PATHS = {
  revision: [],
  host: ['spec.host'],
  position: ['spec.to'],
  software: [],
}

export function HostFields({ pipeline, draft, onChange, findings }: FieldsProps) {
  const query = useQuery(hostsQuery)
  return (
    <Panel title="Target host" note={`currently on ${pipeline.host ?? 'no host'}`}>
      <Unread query={query} what="hosts" />
      <Select
        label="Host"
        description="Old and new agent run side by side for a while. The plan checks the capacity."
        placeholder="Choose a host"
        disabled={!query.data}
        data={query.data?.map((host) => ({ value: host.name, label: describe(host, pipeline) }))}
        value={draft.host}
        error={wordsAt(findings, PATHS.host)}
        onChange={(host) => onChange({ host })}
        maw={420}
      />
    </Panel>
  )
}

function describe(host: Host, pipeline: PipelineDetail): string {
  const notes = [
    host.name === pipeline.host && 'current host',
    host.state !== 'UP' && 'lost',
    host.drained_at !== null && 'drained',
  ].filter(Boolean)
  return notes.length > 0 ? `${host.name} (${notes.join(', ')})` : host.name
}

export function SoftwareFields({ pipeline }: FieldsProps) {
  const query = useQuery(hostsQuery)
  const host = query.data?.find(({ name }) => name === pipeline.host)
  return (
    <Panel title="Agent software">
      <Unread query={query} what="installed version" />
      <p className={classes.note}>
        Starts a new agent with the software that is installed on {pipeline.host ?? 'its host'} now
        {host && ` (version ${host.version})`}. The definition stays the same. Install the new software first.
      </p>
    </Panel>
  )
}

/** A revision that is stored already, for example the one of before. */
export function StoredFields({ pipeline, draft, onChange }: FieldsProps) {
  const query = useQuery(revisionsQuery(pipeline.name))
  return (
    <Panel title="Revision" note={`currently revision ${pipeline.revision}`}>
      <Unread query={query} what="revisions" />
      <Select
        label="Revision"
        placeholder="Choose a revision"
        disabled={!query.data}
        data={query.data?.map(({ number, note }) => ({
          value: String(number),
          label: note ? `${number}: ${note}` : String(number),
        }))}
        value={draft.revision === null ? null : String(draft.revision)}
        onChange={(number) => onChange({ revision: number === null ? null : Number(number) })}
        maw={420}
      />
    </Panel>
  )
}
