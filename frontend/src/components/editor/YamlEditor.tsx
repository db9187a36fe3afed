import { autocompletion } from '@codemirror/autocomplete'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorView, hoverTooltip } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import CodeMirror, { type ReactCodeMirrorRef } from '@uiw/react-codemirror'
import { useEffect, useImperativeHandle, useMemo, useRef, type Ref } from 'react'
import type { Finding } from '@/api/types'
import { definitionCompletions, type Names } from './schema/completion'
import { hoverAt, type Hover } from './schema/hover'
import type { SchemaTree } from './schema/schema'
import { sqlCompletions } from './schema/sqlCompletion'
import { locate } from './text/locate'
import classes from './editor.module.css'

export interface EditorHandle {
  show: (finding: Finding) => void
  /** Writes what another text has differently, as a step that can be undone. False where there is no editor yet. */
  write: (text: string) => boolean
}

interface YamlEditorProps {
  value: string
  onChange: (value: string) => void
  findings: Finding[]
  label: string
  /** Null until it has been loaded. */
  tree: SchemaTree | null
  names: Names
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
  '.cm-tooltip.cm-completionInfo': { maxWidth: '340px', padding: '6px 9px' },
  '.cm-completionDetail': { color: 'var(--hg-dim)', fontStyle: 'normal' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--hg-selected)',
    color: 'var(--hg-text)',
  },
})

const EXTENSIONS = [yaml(), lintGutter(), theme, syntaxHighlighting(highlight)]

/** The text with line numbers, colours, a mark at every finding, completion and help. Tab leaves it, as everywhere else
 * on the page. */
export function YamlEditor({ value, onChange, findings, label, tree, names, ref }: YamlEditorProps) {
  const editor = useRef<ReactCodeMirrorRef>(null)
  useImperativeHandle(ref, () => ({
    show: (finding) => showFinding(editor.current?.view, finding),
    write: (text) => write(editor.current?.view, text),
  }))
  const extensions = useMemo(
    () => [...EXTENSIONS, ...(tree ? schemaExtensions(tree, names) : [])],
    [tree, names],
  )
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

function schemaExtensions(tree: SchemaTree, names: Names) {
  const { functions = [] } = tree.root.$defs?.SqlInterceptor ?? {}
  return [
    autocompletion({ override: [sqlCompletions(functions), definitionCompletions(tree, names)] }),
    hoverTooltip((view, position) => {
      const found = hoverAt(tree, view.state.doc.toString(), position)
      return (
        found && { pos: found.from, end: found.to, above: true, create: () => ({ dom: hoverBox(found) }) }
      )
    }),
  ]
}

function hoverBox({
  title,
  description,
  type,
  unit,
  required,
  default: without,
  range,
  example,
}: Hover): HTMLElement {
  const box = document.createElement('div')
  box.className = classes.hover!
  const add = (tag: string, text: string) => {
    const part = document.createElement(tag)
    part.textContent = text
    box.append(part)
  }
  add('strong', title)
  add('p', description)
  const facts = [
    `Type: ${type}`,
    unit && `Unit: ${unit}`,
    required ? 'Required' : without !== null && `Default: ${without}`,
    range && `Range: ${range}`,
    example && `Example: ${example}`,
  ]
  add('div', facts.filter(Boolean).join(' · '))
  return box
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

/** Only what differs is exchanged, so that marks, selection and scrolling stay. */
function write(view: EditorView | undefined, next: string): boolean {
  if (!view) return false
  const now = view.state.doc.toString()
  let head = 0
  while (head < Math.min(now.length, next.length) && now[head] === next[head]) head += 1
  let tail = 0
  while (tail < Math.min(now.length, next.length) - head && now.at(-1 - tail) === next.at(-1 - tail))
    tail += 1
  view.dispatch({
    changes: { from: head, to: now.length - tail, insert: next.slice(head, next.length - tail) },
    effects: EditorView.scrollIntoView(head, { y: 'nearest', yMargin: 60 }),
  })
  return true
}
