import { Autocomplete, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Shape } from '../schema/schema'
import { writePath, type Path } from '../text/paths'
import { inline } from '../text/splices'
import { isSame, valueAt } from '../text/values'
import { fieldId, useFindings, useForm, type FieldProps } from './context'
import { errorOf, Help } from './Help'
import { unset } from './unset'
import classes from './form.module.css'

type Scalar = Extract<Shape, { kind: 'scalar' | 'choice' }>

const LONG = 1_000
const NUMBER = /^-?\d+(\.\d+)?$/
const INTEGER = /^-?\d+$/

/** What is written for a typed text. */
function valueOf(shape: Scalar, text: string): unknown {
  if (shape.kind === 'choice') return shape.values.find((value) => String(value) === text) ?? text
  const isNumber =
    shape.of === 'integer' ? INTEGER.test(text) : ['number', 'mixed'].includes(shape.of) && NUMBER.test(text)
  return isNumber ? Number(text) : text
}

const textOf = (value: unknown) =>
  value === undefined || value === null ? '' : typeof value === 'object' ? inline(value) : String(value)

/** One value: each keystroke is written into the text. */
export function ScalarField({ shape, ...props }: FieldProps & { shape: Scalar }) {
  const { tree, definition, readOnly, edit, names, secrets } = useForm()
  const { path, schema, required, label, quiet } = props
  const own = tree.resolved(schema)
  const value = valueAt(definition, path)
  const [typed, setTyped] = useState('')
  const text = isSame(valueOf(shape, typed), value ?? '') ? typed : textOf(value)
  const error = errorOf(useFindings(path, 'below'))
  const order = useOrder(path)
  const write = (next: unknown) => edit([{ kind: 'set', path, value: next, order }])
  const change = (next: string) => {
    setTyped(next)
    write(valueOf(shape, next))
  }
  const clear = () => {
    if (value === '' && !required) edit([unset(tree, definition, path)])
  }
  const common = {
    id: fieldId(writePath(path)),
    error,
    disabled: readOnly,
    ...(quiet
      ? { 'aria-label': label }
      : { label, withAsterisk: required, description: <Help schema={schema} required={required} /> }),
  }
  const without = own.default === undefined || own.default === null ? '' : textOf(own.default)
  if (shape.kind === 'scalar' && shape.of === 'boolean')
    return (
      <Checkbox
        id={common.id}
        error={error}
        disabled={readOnly}
        label={label}
        description={quiet ? undefined : <Help schema={schema} required={required} />}
        checked={(value ?? own.default) === true}
        onChange={(event) => write(event.currentTarget.checked)}
      />
    )
  if (shape.kind === 'choice')
    return (
      <NativeSelect
        {...common}
        value={text}
        data={choices(shape.values, text, without)}
        onChange={(event) =>
          event.currentTarget.value === ''
            ? edit([unset(tree, definition, path)])
            : change(event.currentTarget.value)
        }
      />
    )
  const offered = own.secret
    ? secrets.map((name) => `\${secret:${name}}`)
    : own.refers
      ? (names[own.refers] ?? [])
      : []
  if (offered.length > 0)
    return (
      <Autocomplete
        {...common}
        size="xs"
        className={classes.value}
        value={text}
        data={[...new Set(offered)]}
        placeholder={without}
        onChange={change}
        onBlur={clear}
      />
    )
  const plain = {
    ...common,
    className: classes.value,
    value: text,
    placeholder: without,
    spellCheck: false,
    onBlur: clear,
  }
  return (own.maxLength ?? 0) >= LONG || text.includes('\n') ? (
    <Textarea
      {...plain}
      size="xs"
      autosize
      minRows={1}
      maxRows={10}
      onChange={(event) => change(event.currentTarget.value)}
    />
  ) : (
    <TextInput
      {...plain}
      rightSection={
        own.unit && own.unit.length < 10 ? <span className={classes.unit}>{own.unit}</span> : undefined
      }
      rightSectionWidth={own.unit && own.unit.length < 10 ? 74 : undefined}
      inputMode={shape.of === 'integer' ? 'numeric' : undefined}
      onChange={(event) => change(event.currentTarget.value)}
    />
  )
}

function choices(values: readonly unknown[], text: string, without: string) {
  const known = values.map((value) => ({ value: String(value), label: String(value) }))
  const nothing = { value: '', label: without ? `${without} (default)` : 'Not set' }
  const other =
    text !== '' && !known.some(({ value }) => value === text) ? [{ value: text, label: text }] : []
  return text === '' || without !== '' ? [nothing, ...known, ...other] : [...known, ...other]
}

/** The keys beside a key, in the order in which they are listed. */
export function useOrder(path: Path): readonly string[] {
  const { tree, definition } = useForm()
  const parent = path.slice(0, -1)
  return Object.keys(tree.mappingAt(parent, definition, valueAt(definition, parent))?.properties ?? {})
}
