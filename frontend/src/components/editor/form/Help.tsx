import { Fragment } from 'react'
import type { Finding } from '@/api/types'
import { describe } from '../schema/describe'
import type { Schema } from '../schema/schema'
import { useForm } from './context'
import classes from './form.module.css'

/** What a key is for, its unit, default, limits and an example. */
export function Help({ schema, required }: { schema: Schema; required: boolean }) {
  const { tree } = useForm()
  const own = tree.resolved(schema)
  const { unit, default: without, example, range } = describe(tree, schema, required)
  const facts = [
    unit && `Unit: ${unit}`,
    without !== null && `Default: ${without}`,
    range && `Range: ${range}`,
    example && `Example: ${example}`,
  ].filter((fact) => typeof fact === 'string' && fact !== '')
  return (
    <>
      <Prose text={own.description ?? ''} />
      {facts.length > 0 && <span className={classes.facts}>{facts.join(' · ')}</span>}
    </>
  )
}

/** Text in which `code` is marked as in the documentation. */
export function Prose({ text }: { text: string }) {
  return Array.from(text.split('`').entries(), ([place, part]) =>
    place % 2 === 1 ? <code key={place}>{part}</code> : <Fragment key={place}>{part}</Fragment>,
  )
}

/** What is wrong at a field, in one text. */
export function errorOf(findings: readonly Finding[]): string | null {
  const texts = findings.map(({ message, suggestion }) => [message, suggestion].filter(Boolean).join(' '))
  return texts.length > 0 ? texts.join(' ') : null
}
