import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useQuery } from '@tanstack/react-query'
import CodeMirror, { type ReactCodeMirrorRef } from '@uiw/react-codemirror'
import { useEffect, useImperativeHandle, useMemo, useRef, type Ref } from 'react'
import { sqlFunctionsQuery } from '@/api/componentTypes'
import type { Finding } from '@/api/types'
import { locate } from './locate'
import { sqlCompletion } from './sqlCompletion'
import classes from './editor.module.css'

export interface EditorHandle {
  show: (finding: Finding) => void
}

interface YamlEditorProps {
  value: string
  onChange: (value: string) => void
  findings: Finding[]
  label: string
  ref?: Ref<EditorHandle>
}

const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--hg-busy)' },
  { tag: tags.definition(tags.propertyName), color: 'var(--hg-busy)' },
  { tag: tags.string, color: 'var(--hg-ok)' },
  { tag: tags.comment, color: 'var(--hg-dim)', fontStyle: 'italic' },
  { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: 'var(--hg-dim)' },
])

const theme = EditorView.theme({
  '&': { fontSize: '12.5px', backgroundColor: 'var(--hg-surface)', color: 'var(--hg-text)' },
  '&.cm-focused': { outline: '2px solid var(--hg-accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--hg-text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--hg-text)' },
  '.cm-gutters': { backgroundColor: 'var(--hg-surface)', color: 'var(--hg-dim)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hg-hover)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--hg-selected)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--hg-surface)',
    border: '1px solid var(--hg-line)',
    color: 'var(--hg-text)',
  },
})

const EXTENSIONS = [yaml(), lintGutter(), theme, syntaxHighlighting(highlight)]

/** The text with line numbers, colours and a mark at every finding. Tab leaves it, as everywhere else on the page. */
export function YamlEditor({ value, onChange, findings, label, ref }: YamlEditorProps) {
  const editor = useRef<ReactCodeMirrorRef>(null)
  useImperativeHandle(ref, () => ({ show: (finding) => showFinding(editor.current?.view, finding) }))
  const { data: functions } = useQuery({ ...sqlFunctionsQuery, enabled: value.includes('sql') })
  const extensions = useMemo(() => [...EXTENSIONS, sqlCompletion(functions ?? [])], [functions])
  useEffect(() => {
    const view = editor.current?.view
    if (view) view.dispatch(setDiagnostics(view.state, diagnostics(view.state.doc.toString(), findings)))
  }, [findings])
  return (
    <CodeMirror
      ref={editor}
      className={classes.editor}
      value={value}
      onChange={onChange}
      theme="none"
      height="100%"
      indentWithTab={false}
      basicSetup={{ foldGutter: false, highlightActiveLine: true, autocompletion: false }}
      extensions={[...extensions, EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' })]}
    />
  )
}

function diagnostics(text: string, findings: Finding[]): Diagnostic[] {
  return findings
    .map((finding) => ({
      ...locate(text, finding),
      severity: finding.severity,
      message: [finding.message, finding.suggestion].filter(Boolean).join(' '),
    }))
    .toSorted((a, b) => a.from - b.from)
}

function showFinding(view: EditorView | undefined, finding: Finding): void {
  if (!view) return
  const { from, to } = locate(view.state.doc.toString(), finding)
  view.dispatch({
    selection: { anchor: from, head: to },
    effects: EditorView.scrollIntoView(from, { y: 'center' }),
  })
  view.focus()
}
