import { NumberInput, SegmentedControl, Select, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { previewQuery, requestPreview } from '@/api/previews'
import type { PreviewRequest } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty, ErrorNote } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { previewCall } from '@/domain/previewCalls'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { MadeByHost } from './MadeByHost'
import { Outcome } from './Outcome'
import type { SavedTest } from './savedTest'
import { type Choice, FIRST, selectionOf } from './selection'
import classes from './previews.module.css'

interface PreviewPanelProps {
  name: string
  candidate: Pick<PreviewRequest, 'definition' | 'revision'>
  sources: string[]
  /** Why the candidate cannot be previewed yet. */
  notYet: string | null
  /** Adds a test to the definition, where it can be changed here. */
  onSave?: (test: SavedTest) => void
}

/** What a definition would make of real records, beside what the present revision makes of them. */
export function PreviewPanel({ name, candidate, sources, notYet, onSave }: PreviewPanelProps) {
  const [choice, setChoice] = useState(FIRST)
  const [source, setSource] = useState(sources[0] ?? '')
  const readOnly = useReadOnly(name)
  const selection = selectionOf(choice)
  const request = useMutation({ mutationFn: (body: PreviewRequest) => requestPreview(name, body) })
  const id = request.data?.id
  const body = typeof selection === 'string' ? null : { ...candidate, source, selection }
  return (
    <Panel title="Preview" note="Reads real records. Commits and delivers nothing.">
      <div className={classes.form}>
        <SelectionFields choice={choice} onChange={setChoice} />
        {sources.length > 1 && (
          <Select
            label="Source"
            data={sources}
            value={source}
            allowDeselect={false}
            onChange={(next) => setSource(next ?? '')}
          />
        )}
        <ReasonButton
          variant="default"
          reason={readOnly ?? notYet ?? (typeof selection === 'string' ? selection : null)}
          loading={request.isPending}
          onClick={() => body && request.mutate(body)}
        >
          Run preview
        </ReasonButton>
      </div>
      {request.error && <ErrorNote error={request.error} />}
      {id && JSON.stringify(request.variables) !== JSON.stringify(body) && (
        <p className={classes.outdated} role="status">
          This preview is of what was asked for before. Run it again for the present definition and records.
        </p>
      )}
      {id ? (
        <Made key={id} name={name} id={id} onSave={onSave} />
      ) : (
        !request.error && (
          <Empty title="No preview yet">
            Both revisions run on the same records. You see what is filtered, dead, routed elsewhere or
            changed.
          </Empty>
        )
      )}
      {body && <ShowCall call={previewCall(name, body)} subject="Preview" />}
    </Panel>
  )
}

interface SelectionFieldsProps {
  choice: Choice
  onChange: (choice: Choice) => void
}

function SelectionFields({ choice, onChange }: SelectionFieldsProps) {
  return (
    <>
      <SegmentedControl
        aria-label="Records"
        data={[
          { value: 'last', label: 'Last' },
          { value: 'since', label: 'Since' },
          { value: 'range', label: 'Range' },
        ]}
        value={choice.by}
        onChange={(by) => onChange({ ...choice, by: by as Choice['by'] })}
      />
      {choice.by === 'last' && (
        <NumberInput
          label="Records"
          min={1}
          max={10_000}
          value={choice.last}
          onChange={(last) => onChange({ ...choice, last: Number(last) })}
        />
      )}
      {choice.by === 'since' && (
        <TextInput
          label="Time"
          placeholder="1h"
          value={choice.since}
          onChange={(event) => onChange({ ...choice, since: event.currentTarget.value })}
        />
      )}
      {choice.by === 'range' && (
        <TextInput
          label="Offsets"
          placeholder="orders/3:120000-121000"
          value={choice.range}
          onChange={(event) => onChange({ ...choice, range: event.currentTarget.value })}
        />
      )}
      {choice.by !== 'last' && (
        <NumberInput
          label="Sample"
          suffix=" %"
          min={0}
          max={100}
          decimalScale={4}
          value={choice.sample}
          onChange={(sample) => onChange({ ...choice, sample: Number(sample) })}
        />
      )}
    </>
  )
}

interface MadeProps {
  name: string
  id: string
  onSave?: (test: SavedTest) => void
}

function Made({ name, id, onSave }: MadeProps) {
  return (
    <MadeByHost query={useQuery(previewQuery(name, id))} running="Running both revisions">
      {(made) => made.result && <Outcome name={name} preview={made} result={made.result} onSave={onSave} />}
    </MadeByHost>
  )
}
