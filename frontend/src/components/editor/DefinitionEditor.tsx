import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef, useState, type ReactNode } from 'react'
import { clustersQuery } from '@/api/clusters'
import { definitionSchemaQuery } from '@/api/definitionSchema'
import { hostsQuery } from '@/api/hosts'
import { secretsQuery } from '@/api/secrets'
import type { Finding } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { reaches } from '@/domain/roles'
import { useSession } from '@/lib/session'
import { DefinitionForm } from './form/DefinitionForm'
import { Problems } from './Problems'
import type { Names } from './schema/completion'
import { SchemaTree, type Schema } from './schema/schema'
import { parsePath, type Path } from './text/paths'
import type { ValidationState } from './useValidation'
import { YamlEditor, type EditorHandle } from './YamlEditor'
import classes from './editor.module.css'

interface DefinitionEditorProps {
  text: string
  onChange: (text: string) => void
  state: ValidationState
  children: ReactNode
}

type Side = 'form' | 'yaml'

const NONE: never[] = []
const SIDES = [
  { value: 'form', label: 'Form' },
  { value: 'yaml', label: 'YAML' },
]

/** A definition as form and as text, equal at every moment; below them what is wrong with it, and what to do with it. */
export function DefinitionEditor({ text, onChange, state, children }: DefinitionEditorProps) {
  const editor = useRef<EditorHandle>(null)
  const [side, setSide] = useState<Side>('form')
  const [revealed, setRevealed] = useState<{ path: Path } | null>(null)
  const schema = useQuery(definitionSchemaQuery)
  const tree = useMemo(() => (schema.data ? new SchemaTree(schema.data as Schema) : null), [schema.data])
  const names = useNames()
  const findings = state.validation?.findings ?? NONE
  const fromForm = (next: string) => {
    if (!editor.current?.write(next)) onChange(next)
  }
  const showText = (finding: Finding) => {
    setSide('yaml')
    requestAnimationFrame(() => editor.current?.show(finding))
  }
  const showField = (finding: Finding) => {
    setSide('form')
    setRevealed({ path: parsePath(finding.path) ?? [] })
  }
  return (
    <div className={classes.whole}>
      <SegmentedControl
        className={classes.sides}
        aria-label="Form or YAML"
        fullWidth
        data={SIDES}
        value={side}
        onChange={(value) => setSide(value as Side)}
      />
      <div className={classes.layout} data-side={side}>
        <div className={classes.formSide}>
          <Panel title="Form" note="Every change is written into the YAML" flush>
            <div className={classes.frame} role="region" aria-label="Form of the pipeline" tabIndex={0}>
              {schema.error && <ErrorNote error={schema.error} onRetry={() => void schema.refetch()} />}
              {schema.isPending && <Loading rows={8} />}
              {tree && (
                <DefinitionForm
                  tree={tree}
                  text={text}
                  findings={findings}
                  names={names}
                  secrets={names.secrets}
                  revealed={revealed}
                  onChange={fromForm}
                />
              )}
            </div>
          </Panel>
        </div>
        <div className={classes.textSide}>
          <Panel title="Definition" note="YAML or JSON. Ctrl-Space completes" flush>
            <div className={classes.frame}>
              <YamlEditor
                ref={editor}
                value={text}
                onChange={onChange}
                findings={findings}
                label="Definition"
                tree={tree}
                names={names}
              />
            </div>
          </Panel>
        </div>
      </div>
      <div className={classes.below}>
        <Problems state={state} text={text} onShow={showText} onShowField={showField} />
        <div>{children}</div>
      </div>
    </div>
  )
}

/** Names of the installation that a definition can refer to, where the user may see them. */
function useNames(): Names & Record<string, readonly string[]> {
  const { session } = useSession()
  const enabled = reaches(session?.role ?? null, 'operator')
  const { data: clusters } = useQuery({ ...clustersQuery, enabled })
  const { data: hosts } = useQuery(hostsQuery)
  const { data: secrets } = useQuery({ ...secretsQuery, enabled })
  return useMemo(
    () => ({
      clusters: namesOf(clusters),
      hosts: namesOf(hosts),
      secrets: namesOf(secrets?.filter(({ purpose }) => purpose === 'pipelines')),
    }),
    [clusters, hosts, secrets],
  )
}

const namesOf = (rows: readonly { name: string }[] = []) => rows.map(({ name }) => name)
