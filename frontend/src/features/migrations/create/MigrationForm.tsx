import { Button, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ComponentType, type ReactNode, useEffect, useState } from 'react'
import { keys } from '@/api/keys'
import { createMigration, migrationsQuery } from '@/api/migrations'
import type { Finding, MigrationKind, PipelineDetail } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { PreviewPanel } from '@/components/previews/PreviewPanel'
import { saveTest } from '@/components/previews/saveTest'
import { TestsNote } from '@/components/previews/TestsNote'
import { TestsPanel } from '@/components/previews/TestsPanel'
import { type Tests, useTests } from '@/components/previews/useTests'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote, Unread } from '@/components/ui/Feedback'
import { FindingList } from '@/components/ui/Findings'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ReasonField } from '@/components/ui/ReasonField'
import { createMigrationCall } from '@/domain/migrationCalls'
import { STAGES } from '@/domain/migrations'
import { DefinitionEditor } from '@/components/editor/DefinitionEditor'
import { keepDraft } from '@/components/editor/draft'
import { notReady, useValidation } from '@/components/editor/useValidation'
import { askedBefore, start, type StartValues } from './begin'
import { type Draft, missing, specOf } from './draft'
import { asDefinition } from './cluster/draft'
import { ClusterFields } from './cluster/ClusterFields'
import { clusterPaths } from './cluster/paths'
import { type FieldsProps, HostFields, PATHS, SoftwareFields, StoredFields } from './fields'
import { PositionFields } from './PositionFields'
import { findingsOf, unplaced } from '@/domain/findings'
import { dropForm, keepForm } from './kept'
import { RuleFields } from './RuleFields'
import { ShadowFields } from './ShadowFields'
import classes from '../migrations.module.css'

const FIELDS: Record<Exclude<MigrationKind, 'revision' | 'cluster'>, ComponentType<FieldsProps>> = {
  host: HostFields,
  position: PositionFields,
  software: SoftwareFields,
}

/** What is asked for, with a reason; planning it touches nothing. */
export function MigrationForm(initial: StartValues) {
  const { pipeline, kind } = initial
  const [form, setForm] = useState(() => start(initial))
  useEffect(() => keepForm(pipeline.name, kind, form), [pipeline.name, kind, form])
  const { draft, reason } = form
  const change = (next: Partial<Draft>) => setForm((old) => ({ ...old, draft: { ...old.draft, ...next } }))
  const create = useCreate(() => dropForm(pipeline.name, kind))
  const found = findingsOf(create.error)
  const props = { pipeline, draft, onChange: change, findings: found }
  const send = (notYet: string | null, unseen: Finding[], tests?: Tests) => (
    <Send
      pipeline={pipeline}
      kind={kind}
      draft={draft}
      reason={reason}
      onReason={(said) => setForm((old) => ({ ...old, reason: said }))}
      onChange={change}
      refused={missing(kind, draft) ?? notYet}
      create={create}
      findings={unseen}
      tests={tests}
    />
  )
  if (kind === 'revision') {
    const before = askedBefore(initial).text
    return <RevisionForm {...props} before={before} send={(notYet, tests) => send(notYet, found, tests)} />
  }
  if (kind === 'cluster') return <ClusterForm {...props} send={send} />
  const Fields = FIELDS[kind]
  return (
    <>
      <Fields {...props} />
      {send(null, unplaced(found, PATHS[kind]))}
    </>
  )
}

function useCreate(onCreated: () => void) {
  const client = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: createMigration,
    onSuccess: (made) => {
      onCreated()
      client.setQueryData(keys.migration(made.id), made)
      void client.invalidateQueries({ queryKey: keys.anyMigration })
      announce(`${STAGES[made.stage].label}: ${made.message}`)
      void navigate({ to: '/migrations/$id/$step', params: { id: made.id, step: 'plan' } })
    },
  })
}

interface RevisionFormProps extends FieldsProps {
  /** The definition of the earlier migration. */
  before: string | undefined
  send: (notYet: string | null, tests?: Tests) => ReactNode
}

/** The definition is written here, with the findings beside it, or a stored one is named. */
function RevisionForm({ pipeline, draft, onChange, findings, before, send }: RevisionFormProps) {
  const state = useValidation(draft.text)
  const tests = useTests(draft.text, state)
  const unchanged = draft.text === pipeline.definition_yaml ? 'Nothing has changed yet.' : null
  const write = (text: string) => {
    keepDraft(pipeline.name, text)
    onChange({ text })
  }
  return (
    <>
      <div>
        <SegmentedControl
          aria-label="New revision"
          data={[
            { value: 'text', label: 'Write definition' },
            { value: 'stored', label: 'Stored revision' },
          ]}
          value={draft.from}
          onChange={(from) => onChange({ from: from as Draft['from'] })}
        />
      </div>
      {draft.from === 'text' && before !== undefined && before !== draft.text && (
        <p className={classes.note}>
          This is the definition you wrote in this tab.{' '}
          <Button variant="default" size="compact-xs" onClick={() => write(before)}>
            Use the requested definition
          </Button>
        </p>
      )}
      {draft.from === 'text' ? (
        <DefinitionEditor text={draft.text} onChange={write} state={state}>
          {send(unchanged ?? notReady(draft.text, state), tests)}
        </DefinitionEditor>
      ) : (
        <>
          <StoredFields pipeline={pipeline} draft={draft} onChange={onChange} findings={findings} />
          {send(null)}
        </>
      )}
      {draft.from === 'text' && (
        <TestsPanel tests={tests} notYet={unchanged ?? notReady(draft.text, state)} />
      )}
      <PreviewPanel
        key={draft.from}
        name={pipeline.name}
        candidate={
          draft.from === 'text'
            ? { definition: draft.text, revision: null }
            : { definition: null, revision: draft.revision }
        }
        sources={Object.keys((pipeline.definition.sources as object | undefined) ?? {})}
        notYet={
          draft.from === 'text' ? (unchanged ?? notReady(draft.text, state)) : missing('revision', draft)
        }
        onSave={draft.from === 'text' ? (test) => saveTest(draft.text, test, write) : undefined}
      />
    </>
  )
}

interface ClusterFormProps extends FieldsProps {
  send: (notYet: string | null, unseen: Finding[]) => ReactNode
}

/** The definition that it would make is checked while it is written, as in the editor. */
function ClusterForm({ pipeline, draft, onChange, findings, send }: ClusterFormProps) {
  const { cluster } = draft
  const text = asDefinition(pipeline.definition, cluster)
  const state = useValidation(text)
  const checked = text === '' ? [] : (state.validation?.findings ?? [])
  const all = [...findings, ...checked.filter(({ severity }) => severity === 'error')]
  return (
    <>
      <ClusterFields pipeline={pipeline} draft={draft} onChange={onChange} findings={all} />
      {send(text === '' ? null : notReady(text, state), unplaced(all, clusterPaths(cluster)))}
    </>
  )
}

interface SendProps {
  pipeline: PipelineDetail
  kind: MigrationKind
  draft: Draft
  reason: string
  onReason: (reason: string) => void
  onChange: (change: Partial<Draft>) => void
  refused: string | null
  create: ReturnType<typeof useCreate>
  /** Those that no field shows. */
  findings: Finding[]
  /** Those that have to pass first. */
  tests?: Tests
}

function Send(props: SendProps) {
  const { pipeline, kind, draft, reason, onReason, onChange, refused, create, findings, tests } = props
  const readOnly = useReadOnly(pipeline.name)
  const opened = useInfiniteQuery(migrationsQuery({ pipeline: pipeline.name, state: 'open' }))
  const open = opened.data?.pages[0]?.results[0]
  const body = { pipeline: pipeline.name, kind, spec: specOf(kind, draft), reason: reason.trim() }
  const held = open
    ? `The migration of ${pipeline.name} by ${open.created_by} is open. Only one can be open.`
    : null
  const unsaid =
    reason.trim() === '' ? 'Enter a reason first. It stays in the audit log and in the report.' : null
  const why = readOnly ?? held ?? refused ?? unsaid
  const plan = () => create.mutate(body)
  return (
    <div className={classes.form}>
      <Unread query={opened} what="open migration" />
      {open && (
        <p className={classes.warning} role="alert">
          {held}{' '}
          <Link to="/migrations/$id" params={{ id: open.id }} preload={false}>
            Open that migration
          </Link>
        </p>
      )}
      <ReasonField
        description="Stays in the audit log and in the report"
        value={reason}
        onChange={onReason}
      />
      {kind === 'revision' && (
        <ShadowFields shadow={draft.shadow} onChange={(shadow) => onChange({ shadow })} />
      )}
      <RuleFields draft={draft} onChange={onChange} />
      {create.error && <ErrorNote error={create.error} />}
      {findings.length > 0 && <FindingList findings={findings} />}
      {tests && <TestsNote tests={tests} />}
      <div className={classes.footer}>
        {why && <span className={classes.why}>{why}</span>}
        <ReasonButton
          variant={why ? 'default' : 'filled'}
          reason={why}
          loading={create.isPending || tests?.pending}
          onClick={() => (tests ? tests.whenPassed(plan) : plan())}
        >
          Next: Plan migration
        </ReasonButton>
      </div>
      <ShowCall call={createMigrationCall(body)} subject="Plan migration" />
    </div>
  )
}
