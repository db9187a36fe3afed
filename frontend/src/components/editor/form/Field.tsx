import { Button, Menu, NativeSelect, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { FindingList } from '@/components/ui/Findings'
import { fresh, freeName, freshMapping } from '../schema/fresh'
import { labelOf, typeOf, type Schema, type Shape } from '../schema/schema'
import { writePath, type Path } from '../text/paths'
import { isMapping, valueAt, type Mapping } from '../text/values'
import { Card, EntryActions } from './Card'
import { fieldId, useFindings, useForm, type FieldProps } from './context'
import { Help, Prose } from './Help'
import { Keys } from './Keys'
import { renameEdits } from './rename'
import { ScalarField, useOrder } from './ScalarField'
import { unset } from './unset'
import classes from './form.module.css'

/** One key of a mapping, one item of a list, or one entry of a mapping by names. */
export function Field(props: FieldProps) {
  const { tree, definition } = useForm()
  const shape = tree.shape(props.schema)
  switch (shape.kind) {
    case 'scalar':
    case 'choice':
      return <ScalarField {...props} shape={shape} />
    case 'list':
    case 'named':
      return <Entries {...props} shape={shape} />
    case 'mapping':
    case 'union':
      return props.quiet ? (
        <Inside {...props} shape={shape} />
      ) : (
        <Card
          path={props.path}
          title={props.label}
          note={noteOf(props.path, props.required, definition)}
          initiallyOpen={props.required}
        >
          <Inside {...props} shape={shape} />
        </Card>
      )
    default:
      return <Elsewhere {...props} />
  }
}

function noteOf(path: Path, required: boolean, definition: Mapping): string {
  const value = valueAt(definition, path)
  if (isMapping(value) && typeof value.type === 'string') return value.type
  return value !== undefined ? '' : required ? 'missing' : 'default'
}

type Nested = Extract<Shape, { kind: 'mapping' | 'union' }>

/** What a mapping or a union consists of. */
function Inside({ shape, path, schema }: FieldProps & { shape: Nested }) {
  const own = useFindings(path, 'itself')
  return (
    <>
      {shape.schema.description && (
        <p className={classes.about}>
          <Prose text={shape.schema.description} />
        </p>
      )}
      {own.length > 0 && <FindingList findings={own} />}
      {shape.kind === 'mapping' ? (
        <Keys path={path} schema={shape.schema} />
      ) : (
        <Union path={path} shape={shape} schema={schema} />
      )}
    </>
  )
}

/** Chooses among the types of a component, or among the ways of writing a value. */
function Union({ path, shape }: { path: Path; shape: Extract<Shape, { kind: 'union' }>; schema: Schema }) {
  const { tree, definition, edit, readOnly } = useForm()
  const value = valueAt(definition, path)
  const order = useOrder(path)
  const chosen = tree.optionOf(shape.options, value ?? shape.schema.default ?? {})
  const option = value === undefined && shape.schema.default === undefined ? null : chosen
  const choose = (index: number) => {
    const next = shape.options[index]
    if (!next) return
    const made = typeOf(next) ? freshMapping(tree, next, isMapping(value) ? value : {}) : fresh(tree, next)
    edit([{ kind: 'set', path, value: made, order }])
  }
  const unknownType = isMapping(value) && !option && typeof value.type === 'string' ? value.type : null
  const findings = useFindings([...path, 'type'], 'itself')
  return (
    <>
      <NativeSelect
        id={`${fieldId(writePath(path))}-type`}
        label={shape.options.some(typeOf) ? 'Type' : 'Kind of value'}
        description={option?.description && <Prose text={firstSentence(option.description)} />}
        error={findings.map(({ message, suggestion }) => `${message} ${suggestion}`).join(' ') || null}
        disabled={readOnly}
        value={option ? String(shape.options.indexOf(option)) : ''}
        data={[
          ...(option ? [] : [{ value: '', label: unknownType ?? 'Choose a type' }]),
          ...shape.options.map((each, index) => ({ value: String(index), label: optionLabel(each) })),
        ]}
        onChange={(event) => choose(Number(event.currentTarget.value))}
      />
      {option && tree.shape(option).kind === 'mapping' && (
        <Keys key={optionLabel(option)} path={path} schema={option} without={TYPE} />
      )}
      {option && tree.shape(option).kind !== 'mapping' && (
        <Field path={path} schema={{ ...option, title: 'Value' }} required label="Value" quiet />
      )}
    </>
  )
}

const TYPE: readonly string[] = ['type']

function optionLabel(schema: Schema): string {
  if (typeOf(schema)) return `${labelOf(schema)} (${typeOf(schema)})`
  return schema.enum
    ? schema.enum.join(', ')
    : (Object.keys(schema.properties ?? {})[0] ?? schema.title ?? 'Value')
}

const firstSentence = (text: string) => /^[^]*?\.(?=\s|$)/.exec(text)?.[0].replaceAll('\n', ' ') ?? text

type Many = Extract<Shape, { kind: 'list' | 'named' }>

/** A list, or a mapping by names. */
function Entries({ path, schema, required, label, shape, quiet }: FieldProps & { shape: Many }) {
  const { definition } = useForm()
  const value = valueAt(definition, path)
  const findings = useFindings(path, 'itself')
  const keys = Array.isArray(value)
    ? value.map((_, index) => index)
    : isMapping(value)
      ? Object.keys(value)
      : []
  // The place is the identity: a component keeps its field while it gets another name.
  const places = Array.from(keys.keys())
  return (
    <div className={classes.entries} role="group" aria-label={label}>
      <div className={classes.entriesHead} id={fieldId(writePath(path))} tabIndex={-1}>
        {!quiet && (
          <span className={classes.label}>
            {label}
            {required && <span className={classes.star}> *</span>}
          </span>
        )}
        {!quiet && (
          <span className={classes.description}>
            <Help schema={schema} required={required} />
          </span>
        )}
      </div>
      {findings.length > 0 && <FindingList findings={findings} />}
      {places.map((index) => (
        <One
          key={index}
          name={keys[index]!}
          index={index}
          count={keys.length}
          path={path}
          shape={shape}
          label={label}
        />
      ))}
      <Add path={path} shape={shape} label={label} keys={keys} />
    </div>
  )
}

interface OneProps {
  name: string | number
  index: number
  count: number
  path: Path
  shape: Many
  label: string
}

function One({ name, index, count, path, shape, label }: OneProps) {
  const { tree, definition, edit } = useForm()
  const item = shape.kind === 'list' ? shape.item : shape.value
  const inner = tree.shape(item)
  const own = [...path, name]
  const value = valueAt(definition, own)
  const title = shape.kind === 'named' ? String(name) : `${singular(label)} ${index + 1}`
  const remove = () => edit([count === 1 ? unset(tree, definition, own) : { kind: 'remove', path: own }])
  const actions = <EntryActions name={title} parent={path} index={index} count={count} onRemove={remove} />
  if (inner.kind === 'mapping' || inner.kind === 'union')
    return (
      <Card
        path={own}
        title={title}
        note={noteOf(own, true, definition)}
        initiallyOpen={count < 4}
        actions={actions}
      >
        {shape.kind === 'named' && <NameField path={own} />}
        <Inside path={own} schema={item} required label={title} shape={inner} />
      </Card>
    )
  return (
    <div className={classes.row} data-named={shape.kind === 'named' || undefined}>
      {shape.kind === 'named' && (
        <NameField path={own} quiet keys={shape.schema.propertyNames?.enum as string[]} />
      )}
      <div className={classes.rowValue}>
        <Field
          path={own}
          schema={item}
          required
          label={shape.kind === 'named' ? `Value of ${title}` : title}
          quiet
        />
        {value === null && <span className={classes.description}>empty</span>}
      </div>
      {actions}
    </div>
  )
}

/** The name of a component, and of whatever else a definition names; what refers to it follows. */
function NameField({ path, quiet, keys }: { path: Path; quiet?: boolean; keys?: readonly string[] }) {
  const { tree, definition, edit, readOnly } = useForm()
  const name = String(path.at(-1))
  const [typed, setTyped] = useState<string | null>(null)
  const taken = Object.keys((valueAt(definition, path.slice(0, -1)) ?? {}) as Mapping)
  const change = (next: string) => {
    const usable = next !== '' && !taken.includes(next)
    setTyped(usable || next === name ? null : next)
    if (usable) edit(renameEdits(tree, definition, path, next))
  }
  const error = typed === null ? null : typed === '' ? 'Write a name.' : 'This name is taken.'
  const id = `${fieldId(writePath(path.slice(0, -1)))}-name-of-${taken.indexOf(name)}`
  return (
    <TextInput
      id={id}
      className={classes.value}
      {...(quiet ? { 'aria-label': `Name of ${name}` } : { label: 'Name' })}
      list={keys ? `${id}-known` : undefined}
      rightSection={
        keys && (
          <datalist id={`${id}-known`}>
            {keys.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        )
      }
      value={typed ?? name}
      error={error}
      disabled={readOnly}
      spellCheck={false}
      onBlur={() => setTyped(null)}
      onChange={(event) => change(event.currentTarget.value)}
    />
  )
}

interface AddProps {
  path: Path
  shape: Many
  label: string
  keys: readonly (string | number)[]
}

function Add({ path, shape, label, keys }: AddProps) {
  const { tree, definition, edit, readOnly, names } = useForm()
  const order = useOrder(path)
  const item = shape.kind === 'list' ? shape.item : shape.value
  const inner = tree.shape(item)
  const thing = singular(label).toLowerCase()
  const add = (value: unknown) => {
    const named = keys.map(String)
    const known = shape.schema.propertyNames?.enum ?? names[shape.schema.refers ?? ''] ?? []
    const wanted = String(known.find((each) => !named.includes(String(each))) ?? wantedName(thing))
    const key = shape.kind === 'list' ? keys.length : freeName(named, wanted)
    const part = valueAt(definition, path)
    const whole = Array.isArray(part) || (isMapping(part) && keys.length > 0)
    edit([
      whole
        ? { kind: 'set', path: [...path, key], value }
        : { kind: 'set', path, value: shape.kind === 'list' ? [value] : { [key]: value }, order },
    ])
    focusSoon(
      shape.kind === 'named'
        ? `${fieldId(writePath(path))}-name-of-${keys.length}`
        : fieldId(writePath([...path, key])),
    )
  }
  if (inner.kind === 'union' && inner.options.every(typeOf))
    return (
      <Menu position="bottom-start" width={320} withinPortal={false}>
        <Menu.Target>
          <Button
            className={classes.add}
            variant="default"
            size="compact-sm"
            leftSection={<IconPlus size={14} aria-hidden />}
            disabled={readOnly}
          >
            Add {thing}
          </Button>
        </Menu.Target>
        <Menu.Dropdown className={classes.types}>
          {inner.options.map((option) => (
            <Menu.Item
              key={typeOf(option)}
              onClick={() => add(withChannel(freshMapping(tree, option), definition))}
            >
              <span className={classes.typeName}>{labelOf(option)}</span> <code>{typeOf(option)}</code>
              <span className={classes.typeHelp}>
                {firstSentence(option.description ?? '').replaceAll('`', '')}
              </span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    )
  return (
    <Button
      className={classes.add}
      variant="default"
      size="compact-sm"
      leftSection={<IconPlus size={14} aria-hidden />}
      disabled={readOnly}
      onClick={() => add(fresh(tree, item))}
    >
      Add {thing}
    </Button>
  )
}

/** A new sink delivers a channel that has none yet. */
function withChannel(made: Mapping, definition: Mapping): Mapping {
  if (!Object.hasOwn(made, 'channel')) return made
  const channels = Object.keys((definition.channels ?? {}) as Mapping)
  const delivered = Object.values((definition.sinks ?? {}) as Record<string, Mapping>).map(
    (sink) => sink?.channel,
  )
  return { ...made, channel: channels.find((name) => !delivered.includes(name)) ?? channels[0] ?? '' }
}

const singular = (label: string) => label.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')

const wantedName = (thing: string) => thing.replaceAll(' ', '_')

/** Moves the focus to what has just been added. */
export function focusSoon(id: string): void {
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(id)?.focus()))
}

/** A value of any form, which the text alone can say. */
function Elsewhere({ path, schema, required, label, quiet }: FieldProps) {
  const { definition } = useForm()
  const value = valueAt(definition, path)
  return (
    <TextInput
      id={fieldId(writePath(path))}
      {...(quiet
        ? { 'aria-label': label }
        : { label, description: <Help schema={schema} required={required} /> })}
      className={classes.value}
      value={value === undefined ? '' : JSON.stringify(value)}
      placeholder="Edit it in the YAML"
      readOnly
    />
  )
}
