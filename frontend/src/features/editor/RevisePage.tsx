import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { pipelineQuery } from '@/api/pipelines'
import { publishRevision, revisionQuery } from '@/api/revisions'
import type { PipelineDetail, RevisionDetail } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { PreviewPanel } from '@/components/previews/PreviewPanel'
import { saveTest } from '@/components/previews/saveTest'
import { TestsNote } from '@/components/previews/TestsNote'
import { TestsPanel } from '@/components/previews/TestsPanel'
import { useTests } from '@/components/previews/useTests'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { PhaseBadge } from '@/components/ui/PhaseBadge'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { withHost } from '@/domain/placement'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { DefinitionEditor } from '@/components/editor/DefinitionEditor'
import { dropDraft, keepDraft, readDraft } from '@/components/editor/draft'
import { PublishDialog } from './PublishDialog'
import { RestoreButton } from './RestoreButton'
import { notReady, useValidation } from '@/components/editor/useValidation'
import classes from './editor.module.css'

export function RevisePage() {
  const { name } = useParams({ from: '/pipelines/$name/edit' })
  const { revision } = useSearch({ from: '/pipelines/$name/edit' })
  const { data, error, refetch } = useQuery({ ...pipelineQuery(name), refetchInterval: usePollInterval() })
  const older = useQuery({ ...revisionQuery(name, revision ?? 1), enabled: revision !== undefined })
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (older.error) return <ErrorNote error={older.error} onRetry={() => void older.refetch()} />
  if (!data || (revision !== undefined && !older.data)) return <Loading rows={10} />
  return <Revise key={`${name} ${revision}`} pipeline={data} restored={older.data} />
}

/** `restored`: an older revision to start from, in place of the current one and of a draft. */
function Revise({ pipeline, restored }: { pipeline: PipelineDetail; restored?: RevisionDetail }) {
  const { name } = pipeline
  const client = useQueryClient()
  const navigate = useNavigate()
  const [base, setBase] = useState(pipeline)
  const { host } = useSearch({ from: '/pipelines/$name/edit' })
  const [text, setText] = useState(() =>
    placed(restored?.definition_yaml ?? readDraft(name) ?? base.definition_yaml, host),
  )
  const [note, setNote] = useState(restored ? `Back to revision ${restored.number}.` : '')
  const [reviewing, setReviewing] = useState(false)
  const state = useValidation(text)
  const tests = useTests(text, state)
  const publish = useMutation({
    mutationFn: () => publishRevision(name, base.etag, text, note),
    onSuccess: () => {
      dropDraft(name)
      void client.invalidateQueries({ queryKey: keys.pipeline(name) })
      void navigate({ to: '/pipelines/$name/revisions', params: { name } })
    },
  })
  const change = (next: string) => {
    setText(next)
    keepDraft(name, next)
  }
  const restore = () => {
    setBase(pipeline)
    setText(pipeline.definition_yaml)
    dropDraft(name)
  }
  const unchanged = text === base.definition_yaml ? 'Nothing has changed yet.' : null
  return (
    <div className={classes.page}>
      <PageHeader
        title={`New revision of ${name}`}
        before={<Crumbs name={name} />}
        beside={<PhaseBadge phase={pipeline.phase} />}
        actions={
          <RestoreButton
            label={`Restore revision ${pipeline.revision}`}
            changed={text !== pipeline.definition_yaml}
            onRestore={restore}
          />
        }
      />
      {pipeline.revision !== base.revision && (
        <p className={classes.warning} role="alert">
          Revision {pipeline.revision} was published while you were editing. Your text is still based on
          revision {base.revision}.
        </p>
      )}
      <DefinitionEditor text={text} onChange={change} state={state}>
        <div className={classes.send}>
          <TestsNote tests={tests} />
          <div className={classes.buttons}>
            <ReasonButton
              reason={refusal(pipeline, 'edit') ?? unchanged ?? notReady(text, state)}
              loading={tests.pending}
              onClick={() => tests.whenPassed(() => setReviewing(true))}
            >
              Review changes
            </ReasonButton>
          </div>
          {refusal(pipeline, 'edit') && (
            <p className={classes.hint}>
              {refusal(pipeline, 'edit')}{' '}
              <Link to="/migrations/new" search={{ pipeline: name, kind: 'revision' }}>
                Plan a migration with this definition
              </Link>
            </p>
          )}
        </div>
      </DefinitionEditor>
      <TestsPanel tests={tests} notYet={notReady(text, state)} />
      <PreviewPanel
        name={name}
        candidate={{ definition: text, revision: null }}
        sources={Object.keys((pipeline.definition.sources as object | undefined) ?? {})}
        notYet={unchanged ?? notReady(text, state)}
        onSave={(test) => saveTest(text, test, change)}
      />
      {reviewing && (
        <PublishDialog
          name={name}
          current={pipeline.definition_yaml}
          text={text}
          note={note}
          onNote={setNote}
          publish={publish}
          onClose={() => {
            publish.reset()
            setReviewing(false)
          }}
        />
      )}
    </div>
  )
}

/** The text with the host that the address asks for. */
function placed(text: string, host: string | undefined): string {
  return host === undefined ? text : withHost(text, host)
}

function Crumbs({ name }: { name: string }) {
  return (
    <nav aria-label="Breadcrumb" className={classes.crumbs}>
      <Link to="/">Pipelines</Link> <span aria-hidden>/</span>{' '}
      <Link to="/pipelines/$name" params={{ name }}>
        {name}
      </Link>
    </nav>
  )
}
