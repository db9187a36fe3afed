import { Box, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { positionsQuery } from '@/api/positions'
import type { Positions } from '@/api/types'
import { picksOf, placeOf, targetOf } from '@/components/positions/picks'
import { PositionPicker } from '@/components/positions/PositionPicker'
import { Sums } from '@/components/positions/Sums'
import { useCount } from '@/components/positions/useCount'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { wordsAt } from '@/domain/findings'
import { PATHS, type FieldsProps } from './fields'
import classes from '../migrations.module.css'

/** Where each partition resumes: picked in the table, or written; both are the same text. */
export function PositionFields({ pipeline, draft, onChange, findings }: FieldsProps) {
  const { data, error, refetch } = useQuery(positionsQuery(pipeline.name))
  const sources = Object.keys((pipeline.definition.sources as object | undefined) ?? {})
  return (
    <Panel title="Start position" note="the host counts skipped and reread records" flush>
      <Box className={classes.form} p={14}>
        <TextInput
          label="Resume at"
          description="earliest, latest, ledger, checkpoint, group, timestamp=-30m, before=EVENT-30m, or what you pick below"
          value={draft.to}
          error={wordsAt(findings, PATHS.position)}
          onChange={(event) => onChange({ to: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
        {sources.length > 1 && (
          <Select
            label="Source"
            data={[{ value: '', label: 'All sources' }, ...sources]}
            value={draft.source ?? ''}
            onChange={(source) => onChange({ source: source || null })}
            maw={420}
          />
        )}
      </Box>
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && data.partitions.length > 0 && (
        <Picked
          key={draft.source}
          name={pipeline.name}
          partitions={data.partitions.filter(({ source }) => [null, source].includes(draft.source))}
          {...{ draft, onChange }}
        />
      )}
    </Panel>
  )
}

interface PickedProps extends Pick<FieldsProps, 'draft' | 'onChange'> {
  name: string
  partitions: Positions['partitions']
}

function Picked({ name, partitions, draft, onChange }: PickedProps) {
  const places = [...new Set(partitions.map(placeOf))]
  const [kept, setKept] = useState(() => picksOf(draft.to, places) ?? {})
  const isOfTable = (targetOf(kept, places) ?? '') === draft.to.trim()
  const basis = partitions.map(({ ledger }) => ledger).join()
  const counted = useCount(name, draft.to.trim() || null, draft.source, basis)
  return (
    <>
      <PositionPicker
        partitions={partitions}
        picks={isOfTable ? kept : (picksOf(draft.to, places) ?? {})}
        counted={counted}
        refused={null}
        onPick={(picks) => {
          setKept(picks)
          onChange({ to: targetOf(picks, places) ?? '' })
        }}
      />
      <Box role="status" p={14}>
        {counted.state === 'none' && <span className="dim">Choose a new position.</span>}
        {counted.state === 'counting' && <span className="dim">Counting skipped and reread records…</span>}
        {counted.state === 'silent' && 'The host did not respond, so the effect is unknown.'}
        {counted.state === 'failed' && <ErrorNote error={counted.error} onRetry={counted.retry} />}
        {counted.state === 'counted' && <Sums plan={counted.plan} />}
      </Box>
    </>
  )
}
