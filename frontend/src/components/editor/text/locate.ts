import { isMap, isScalar, type Node } from 'yaml'
import type { Finding } from '@/api/types'
import { end, entriesAlong, entryOf, isFlow, start, type Entry } from './nodes'
import { parsePath } from './paths'
import { read } from './reading'

/** Offsets in a text. */
export interface Place {
  from: number
  to: number
}

/** Where the key itself is wrong. */
const OF_KEYS = new Set(['unknown_key', 'belongs_to_cluster', 'forbidden_option'])

type Located = Pick<Finding, 'path' | 'code' | 'line' | 'column'>

/** What a finding is about: a value, a key, or what should have the key that is missing. A text that cannot be read has
 * only the line and column that the server has seen. */
export function locate(text: string, finding: Located): Place {
  const path = parsePath(finding.path)
  const { problem, document } = read(text)
  if (problem || !path) return byLine(text, finding)
  const entries = entriesAlong(document, path)
  const entry = entries.at(-1)
  if (!entry) return byLine(text, { line: 1, column: 1 })
  const whole = entries.length === path.length
  return whole && !OF_KEYS.has(finding.code) ? valuePlace(text, entry) : keyPlace(text, entry)
}

function valuePlace(text: string, entry: Entry): Place {
  const { value } = entry
  const inline = value !== null && (isFlow(value) || !isBlock(value)) && end(value) > start(value)
  return inline ? trimmed(text, { from: start(value), to: end(value) }) : keyPlace(text, entry)
}

/** A key; of an entry in a list, which has none, what stands on its first line. */
function keyPlace(text: string, { key, value }: Entry): Place {
  if (key) return { from: start(key), to: end(key) }
  if (!value) return { from: 0, to: 0 }
  const first = isMap(value) && !value.flow && value.items.length > 0 ? entryOf(value, 0) : null
  const from = first?.key ? start(first.key) : start(value)
  const line = text.indexOf('\n', from)
  return trimmed(text, { from, to: Math.min(end(value), line < 0 ? text.length : line) })
}

const isBlock = (node: Node) => !isScalar(node) && !isFlow(node) && 'items' in node

function trimmed(text: string, { from, to }: Place): Place {
  return { from, to: from + text.slice(from, to).trimEnd().length }
}

/** From a line and column to the end of the line; the first line where there is none. */
function byLine(text: string, { line, column }: Pick<Finding, 'line' | 'column'>): Place {
  const lines = text.split('\n')
  const index = Math.min(Math.max((line ?? 1) - 1, 0), lines.length - 1)
  const before = lines.slice(0, index).reduce((sum, each) => sum + each.length + 1, 0)
  const length = lines[index]?.length ?? 0
  return { from: before + Math.min(Math.max((column ?? 1) - 1, 0), length), to: before + length }
}
