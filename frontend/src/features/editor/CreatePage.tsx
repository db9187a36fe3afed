import { NativeSelect } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { act } from '@/api/operations'
import { createPipeline } from '@/api/pipelines'
import { teamsQuery } from '@/api/teams'
import { ShowCall } from '@/components/actions/ShowCall'
import { showRefusal } from '@/components/actions/useAction'
import { ErrorNote } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { applyCall } from '@/domain/calls'
import { cannotWrite } from '@/domain/roles'
import { useSession } from '@/lib/session'
import { DefinitionEditor } from '@/components/editor/DefinitionEditor'
import { dropDraft, keepDraft, readDraft } from '@/components/editor/draft'
import { RestoreButton } from './RestoreButton'
import { TEMPLATE } from './template'
import { notReady, useValidation } from '@/components/editor/useValidation'
import classes from './editor.module.css'

const DRAFT = '(new)'
const DEFAULT_TEAM = 'default'

export function CreatePage() {
  const client = useQueryClient()
  const navigate = useNavigate()
  const { session } = useSession()
  const [text, setText] = useState(() => readDraft(DRAFT) ?? TEMPLATE)
  const state = useValidation(text)
  const { data: teams = [] } = useQuery(teamsQuery)
  const possible = teams.filter(({ role }) => role !== null && role !== 'viewer').map(({ name }) => name)
  const [chosen, setChosen] = useState<string | null>(null)
  const team = chosen ?? possible.find((each) => each === DEFAULT_TEAM) ?? possible[0] ?? null
  const create = useMutation({
    mutationFn: ({ start }: { start: boolean }) => createAnd(start, text, team),
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
  const reason = cannotWrite(session) ?? notReady(text, state)
  const name = String(state.validation?.definition?.name ?? '')
  return (
    <div className={classes.page}>
      <PageHeader
        title="New pipeline"
        actions={
          <RestoreButton
            label="Restore template"
            changed={text !== TEMPLATE}
            onRestore={() => change(TEMPLATE)}
          />
        }
      />
      <DefinitionEditor text={text} onChange={change} state={state}>
        <div className={classes.send}>
          {possible.length > 1 && (
            <NativeSelect
              label="Team"
              description="It owns the pipeline."
              data={possible}
              value={team ?? ''}
              onChange={(event) => setChosen(event.currentTarget.value)}
            />
          )}
          {create.error && <ErrorNote error={create.error} />}
          <div className={classes.buttons}>
            <ReasonButton
              reason={reason}
              loading={create.isPending && create.variables.start}
              onClick={() => create.mutate({ start: true })}
            >
              Create and start pipeline
            </ReasonButton>
            <ReasonButton
              variant="default"
              reason={reason}
              loading={create.isPending && !create.variables.start}
              onClick={() => create.mutate({ start: false })}
            >
              Create pipeline
            </ReasonButton>
          </div>
          <ShowCall call={applyCall(name, false)} subject="Create" />
        </div>
      </DefinitionEditor>
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
