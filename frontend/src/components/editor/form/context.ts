import { createContext, useContext, type ReactNode } from 'react'
import type { Finding } from '@/api/types'
import type { Schema, SchemaTree } from '../schema/schema'
import type { Edit } from '../text/edits'
import { samePath, startsWith, type Path } from '../text/paths'
import type { Mapping } from '../text/values'

export interface PlacedFinding {
  path: Path
  finding: Finding
}

export interface FieldProps {
  path: Path
  schema: Schema
  required: boolean
  label: string
  /** Shows the label to screen readers alone, where another one stands above. */
  quiet?: boolean
}

export interface FormState {
  tree: SchemaTree
  definition: Mapping
  /** The text cannot be read, so nothing can be changed here. */
  readOnly: boolean
  findings: readonly PlacedFinding[]
  /** Names that a key can refer to, by what it refers to. */
  names: Record<string, readonly string[]>
  secrets: readonly string[]
  /** What a user wants to see; each time anew. */
  revealed: { path: Path } | null
  edit: (edits: readonly Edit[]) => void
  /** Draws what is below a key: fields hold keys, and keys hold fields. */
  draw: (props: FieldProps) => ReactNode
}

export const FormContext = createContext<FormState | null>(null)

export function useForm(): FormState {
  const state = useContext(FormContext)
  if (!state) throw new Error('A field stands outside of a form.')
  return state
}

/** What is wrong at a path itself. */
export function useFindings(path: Path, below: 'below' | 'itself'): Finding[] {
  const { findings } = useForm()
  return findings
    .filter((each) => (below === 'below' ? startsWith(each.path, path) : samePath(each.path, path)))
    .map(({ finding }) => finding)
}

/** The id of a field's input. */
export const fieldId = (written: string) => `field ${written}`.replaceAll(' ', '-')
