import { Button } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { FindingList } from '@/components/ui/Findings'
import { plural } from '@/lib/format'
import type { Schema } from '../schema/schema'
import { startsWith, writePath, type Path } from '../text/paths'
import { isMapping, valueAt, type Mapping } from '../text/values'
import { Action } from './Card'
import { useFindings, useForm } from './context'
import { unset } from './unset'
import classes from './form.module.css'

interface KeysProps {
  path: Path
  schema: Schema
  /** Keys that are drawn elsewhere. */
  without?: readonly string[]
}

const NONE: readonly string[] = []

/** The keys of a mapping: those that are set and those that have to be; the others on demand. */
export function Keys({ path, schema, without = NONE }: KeysProps) {
  const { tree, definition, revealed, draw } = useForm()
  const written = valueAt(definition, path)
  const value: Mapping = isMapping(written) ? written : {}
  const properties = Object.entries(schema.properties ?? {}).filter(
    ([key, own]) => !without.includes(key) && !(own.const !== undefined && own.const === value[key]),
  )
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  const [all, setAll] = useState(false)
  const isRequired = (key: string) => schema.required?.includes(key) ?? false
  const isShown = (key: string) => isRequired(key) || Object.hasOwn(value, key) || touched.has(key)
  useEffect(() => {
    const key = revealed && startsWith(revealed.path, path) ? revealed.path[path.length] : undefined
    if (typeof key === 'string' && !isShown(key)) setTouched((before) => new Set([...before, key]))
    // oxlint-disable-next-line react/exhaustive-deps -- only what is revealed anew
  }, [revealed])
  useEffect(() => {
    // A key that a user has cleared stays where it is.
    const fresh = Object.keys(value).filter((key) => !touched.has(key))
    if (fresh.length > 0) setTouched((before) => new Set([...before, ...fresh]))
    // oxlint-disable-next-line react/exhaustive-deps -- only keys that are written anew
  }, [Object.keys(value).join()])
  const others = properties.filter(([key]) => !isShown(key))
  const drawn = properties.filter(([key]) => all || isShown(key))
  return (
    <div className={classes.keys}>
      {drawn.map(([key, own]) => (
        <div
          key={key}
          className={classes.key}
          data-unset={(Object.hasOwn(value, key) && !isRequired(key)) || undefined}
        >
          {draw({
            path: [...path, key],
            schema: own,
            required: isRequired(key),
            label: tree.resolved(own).title ?? key,
          })}
          {Object.hasOwn(value, key) && !isRequired(key) && (
            <Unset path={[...path, key]} label={tree.resolved(own).title ?? key} />
          )}
        </div>
      ))}
      {Object.keys(value)
        .filter((key) => !Object.hasOwn(schema.properties ?? {}, key))
        .map((key) => (
          <Unknown key={key} path={[...path, key]} name={key} />
        ))}
      {(others.length > 0 || all) && (
        <Button
          className={classes.more}
          variant="subtle"
          size="compact-sm"
          aria-expanded={all}
          onClick={() => setAll(!all)}
        >
          {all ? 'Hide settings that are not set' : `Show ${plural(others.length, 'more setting')}`}
        </Button>
      )}
    </div>
  )
}

function Unset({ path, label }: { path: Path; label: string }) {
  const { tree, definition, edit, readOnly } = useForm()
  return (
    <div className={classes.unset}>
      <Action
        label={`Unset ${label}`}
        disabled={readOnly}
        onClick={() => edit([unset(tree, definition, path)])}
      >
        <IconX size={14} />
      </Action>
    </div>
  )
}

/** A key that the format does not have. */
function Unknown({ path, name }: { path: Path; name: string }) {
  const { edit, readOnly } = useForm()
  const findings = useFindings(path, 'below')
  return (
    <div className={classes.unknown} id={`field-${writePath(path)}`} tabIndex={-1}>
      <div>
        <code>{name}</code> is not a setting of this part.
      </div>
      {findings.length > 0 && <FindingList findings={findings} />}
      <Button
        size="compact-sm"
        variant="default"
        disabled={readOnly}
        onClick={() => edit([{ kind: 'remove', path }])}
      >
        Remove {name}
      </Button>
    </div>
  )
}
