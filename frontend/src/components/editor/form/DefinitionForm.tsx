import { useEffect, useMemo, useState } from 'react'
import type { Finding } from '@/api/types'
import { FindingList } from '@/components/ui/Findings'
import type { SchemaTree } from '../schema/schema'
import { edited } from '../text/edits'
import { parsePath, writePath, type Path } from '../text/paths'
import { read, type Reading } from '../text/reading'
import { fieldId, FormContext, type FieldProps, type FormState } from './context'
import { Field } from './Field'
import { Keys } from './Keys'
import classes from './form.module.css'

interface DefinitionFormProps {
  tree: SchemaTree
  text: string
  findings: readonly Finding[]
  names: Record<string, readonly string[]>
  secrets: readonly string[]
  revealed: { path: Path } | null
  onChange: (text: string) => void
}

/** A definition as fields, drawn from its JSON Schema. It shows the text as it stands, and each change of a field is one
 * of the text. */
export function DefinitionForm({
  tree,
  text,
  findings,
  names,
  secrets,
  revealed,
  onChange,
}: DefinitionFormProps) {
  const current = read(text)
  const [last, setLast] = useState<Reading | null>(current.problem ? null : current)
  if (!current.problem && last !== current) setLast(current)
  const shown = current.problem ? last : current
  const own = useMemo(() => shown?.value ?? {}, [shown])
  const state: FormState = {
    tree,
    definition: own,
    readOnly: current.problem !== null,
    findings: useMemo(
      () =>
        findings.flatMap((finding) => {
          const path = parsePath(finding.path)
          return path ? [{ path, finding }] : []
        }),
      [findings],
    ),
    names: useMemo(() => ({ ...names, ...componentNames(own) }), [names, own]),
    secrets,
    revealed,
    edit: (edits) => onChange(edited(text, edits)),
    draw,
  }
  useEffect(() => {
    if (revealed) requestAnimationFrame(() => requestAnimationFrame(() => focusAt(revealed.path)))
  }, [revealed])
  return (
    <FormContext value={state}>
      {current.problem && <Unreadable problem={current.problem} shown={shown !== null} />}
      <div className={classes.form} data-readonly={state.readOnly || undefined}>
        <Whole findings={findings} />
        {shown && <Keys path={ROOT} schema={tree.root} />}
      </div>
    </FormContext>
  )
}

const ROOT: Path = []

const draw = (props: FieldProps) => <Field {...props} />

function componentNames(definition: Reading['value']): Record<string, string[]> {
  return Object.fromEntries(
    ['sources', 'channels', 'sinks'].map((group) => [
      group,
      Object.keys((definition[group] ?? {}) as object),
    ]),
  )
}

function Unreadable({ problem, shown }: { problem: NonNullable<Reading['problem']>; shown: boolean }) {
  return (
    <p className={classes.unreadable} role="status">
      The YAML cannot be read{problem.line ? ` (line ${problem.line})` : ''}: {problem.message}{' '}
      {shown
        ? 'The form shows the last state that could be read. Fix the YAML to edit it.'
        : 'Fix the YAML to see it as a form.'}
    </p>
  )
}

/** What concerns the definition as a whole. */
function Whole({ findings }: { findings: readonly Finding[] }) {
  const own = findings.filter(({ path, code }) => path === '' && code !== 'syntax')
  return own.length > 0 && <FindingList findings={own} />
}

/** Moves the focus to the field of a path, or to the nearest one above it. */
function focusAt(path: Path): void {
  for (let length = path.length; length > 0; length -= 1) {
    const id = fieldId(writePath(path.slice(0, length)))
    const found = document.getElementById(id) ?? document.getElementById(`${id}-type`)
    if (found) {
      found.scrollIntoView({ block: 'center' })
      found.focus({ preventScroll: true })
      return
    }
  }
}
