import { useRef, type ReactNode } from 'react'
import { Panel } from '@/components/ui/Panel'
import { Problems } from './Problems'
import type { ValidationState } from './useValidation'
import { YamlEditor, type EditorHandle } from './YamlEditor'
import classes from './editor.module.css'

interface DefinitionEditorProps {
  text: string
  onChange: (text: string) => void
  state: ValidationState
  children: ReactNode
}

const NONE: never[] = []

/** The text on one side; what is wrong with it, and what to do with it, on the other. */
export function DefinitionEditor({ text, onChange, state, children }: DefinitionEditorProps) {
  const editor = useRef<EditorHandle>(null)
  const findings = state.validation?.findings ?? NONE
  return (
    <div className={classes.layout}>
      <Panel title="Definition" note="YAML or JSON" flush>
        <div className={classes.frame}>
          <YamlEditor ref={editor} value={text} onChange={onChange} findings={findings} label="Definition" />
        </div>
      </Panel>
      <div className={classes.side}>
        <Problems state={state} text={text} onShow={(finding) => editor.current?.show(finding)} />
        {children}
      </div>
    </div>
  )
}
