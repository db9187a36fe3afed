import { Button } from '@mantine/core'
import { IconFileImport, IconTemplate } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { act } from '@/api/operations'
import { createPipeline } from '@/api/pipelines'
import { ShowCall } from '@/components/actions/ShowCall'
import { showRefusal } from '@/components/actions/useAction'
import { TestsNote } from '@/components/previews/TestsNote'
import { TestsPanel } from '@/components/previews/TestsPanel'
import { useTests } from '@/components/previews/useTests'
import { TeamField } from '@/components/teams/TeamField'
import { usePipelineTeam } from '@/components/teams/useTeamChoice'
import { ErrorNote } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { createCall } from '@/domain/calls'
import { cannotWrite } from '@/domain/roles'
import { useSession } from '@/lib/session'
import { DefinitionEditor } from '@/components/editor/DefinitionEditor'
import { dropDraft, keepDraft, readDraft } from '@/components/editor/draft'
import { ImportDialog } from './ImportDialog'
import { RestoreButton } from './RestoreButton'
import { TEMPLATE } from './template'
import { TemplateDialog } from './TemplateDialog'
import { notReady, useValidation } from '@/components/editor/useValidation'
import { frozen } from '@/domain/readOnly'
import classes from './editor.module.css'

const DRAFT = '(new)'

export function CreatePage() {
  const client = useQueryClient()
  const navigate = useNavigate()
  const { session } = useSession()
  const [text, setText] = useState(() => readDraft(DRAFT) ?? TEMPLATE)
  const [open, setOpen] = useState<'import' | 'templates' | null>(null)
  const state = useValidation(text)
  const owner = usePipelineTeam()
  const tests = useTests(text, state, owner.team)
  const create = useMutation({
    mutationFn: ({ start }: { start: boolean }) => createAnd(start, text, owner.team),
    onSuccess: (name) => {
      dropDraft(DRAFT)
      void client.invalidateQueries({ queryKey: keys.pipelines })
      void navigate({ to: '/pipelines/$name', params: { name } })
    },
  })
  const change = (next: string) => {
    setText(next)
    keepDraft(DRAFT, next)
  }
  const use = (next: string) => {
    change(next)
    setOpen(null)
  }
  const send = (start: boolean) => tests.whenPassed(() => create.mutate({ start }))
  const reason = cannotWrite(session) ?? frozen(session) ?? notReady(text, state) ?? owner.missing
  const name = String(state.validation?.definition?.name ?? '')
  return (
    <div className={classes.page}>
      <PageHeader
        title="New pipeline"
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconTemplate size={14} aria-hidden />}
              onClick={() => setOpen('templates')}
            >
              Templates
            </Button>
            <Button
              variant="default"
              leftSection={<IconFileImport size={14} aria-hidden />}
              onClick={() => setOpen('import')}
            >
              Import configuration
            </Button>
            <RestoreButton
              label="Restore template"
              changed={text !== TEMPLATE}
              onRestore={() => change(TEMPLATE)}
            />
          </>
        }
      />
      <DefinitionEditor text={text} onChange={change} state={state}>
        <div className={classes.send}>
          <TeamField choice={owner} description="It owns the pipeline." error={create.error} />
          {create.error && <ErrorNote error={create.error} />}
          <TestsNote tests={tests} />
          <div className={classes.buttons}>
            <ReasonButton
              reason={reason}
              loading={tests.pending || (create.isPending && create.variables.start)}
              onClick={() => send(true)}
            >
              Create and start pipeline
            </ReasonButton>
            <ReasonButton
              variant="default"
              reason={reason}
              loading={tests.pending || (create.isPending && !create.variables.start)}
              onClick={() => send(false)}
            >
              Create pipeline
            </ReasonButton>
          </div>
          <ShowCall call={createCall(name, owner.offered ? owner.team : null)} subject="Create" />
        </div>
      </DefinitionEditor>
      <TestsPanel tests={tests} notYet={reason} />
      {open === 'import' && <ImportDialog onUse={use} onClose={() => setOpen(null)} />}
      {open === 'templates' && <TemplateDialog onUse={use} onClose={() => setOpen(null)} />}
    </div>
  )
}

/** Once created, a start that is refused is reported on the new pipeline's own page and undoes nothing. */
async function createAnd(start: boolean, text: string, team: string | null): Promise<string> {
  const { name } = await createPipeline(text, team)
  if (start)
    await act(name, 'start').catch((error: unknown) =>
      showRefusal(`${name} was created but not started`, error),
    )
  return name
}
