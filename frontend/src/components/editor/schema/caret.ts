import { isMap, isScalar, parseDocument, type Node } from 'yaml'
import { entryOf, nameOf, nodes } from '../text/nodes'
import type { Path } from '../text/paths'

/** What a text has at its caret: a key of the mapping at `path`, or the value at `path`. */
export interface Caret {
  kind: 'key' | 'value'
  path: Path
  /** Where what is being written begins. */
  from: number
  /** The definition as it would be without what is being written. */
  definition: unknown
  /** Whether a colon follows. */
  hasColon: boolean
}

const MARK = 'caret9f3c'
const WORD = /[A-Za-z0-9_.${}:/-]*$/
const KEY = /^[ \t]*(?:- +)*(?:["']?)$/

/** Reads a text that is being written: a mark stands for the word at the caret, and where it is found tells what the
 * word will be. Null where nothing can be told, as in a comment. */
export function caretAt(text: string, position: number): Caret | null {
  const line = text.slice(text.lastIndexOf('\n', position - 1) + 1, position)
  if (/(^|\s)#/.test(line.replaceAll(/"[^"]*"|'[^']*'/g, ''))) return null
  const word = /\S:\s/.test(line) || !/:\S*$/.test(line) ? (WORD.exec(line)?.[0] ?? '') : ''
  const from = position - word.length
  const rest = /^[A-Za-z0-9_.-]*/.exec(text.slice(position))?.[0] ?? ''
  const after = text.slice(position + rest.length)
  const hasColon = /^["']?[ \t]*:(\s|$)/.test(after)
  const isLine = KEY.test(line.slice(0, line.length - word.length))
  for (const put of isLine && !hasColon ? [`${MARK}:`, MARK] : [MARK]) {
    const found = find(text.slice(0, from) + put + after)
    if (found) return { ...found, from, hasColon }
  }
  return null
}

function find(text: string): Pick<Caret, 'kind' | 'path' | 'definition'> | null {
  const document = parseDocument(text, { prettyErrors: false })
  const definition = dataOf(document.contents as Node | null)
  for (const { node, path } of nodes(document.contents as Node | null)) {
    if (isScalar(node) && String(node.value).includes(MARK)) return { kind: 'value', path, definition }
    if (!isMap(node)) continue
    for (let index = 0; index < node.items.length; index += 1)
      if (nameOf(entryOf(node, index).key).includes(MARK)) return { kind: 'key', path, definition }
  }
  return null
}

/** The data of a text that may be incomplete, without the mark. */
function dataOf(node: Node | null): unknown {
  if (isScalar(node)) return String(node.value).includes(MARK) ? undefined : node.value
  if (isMap(node)) {
    const entries = node.items.map((_, index) => entryOf(node, index))
    return Object.fromEntries(
      entries.flatMap(({ key, value }) => (nameOf(key).includes(MARK) ? [] : [[nameOf(key), dataOf(value)]])),
    )
  }
  return node && 'items' in node ? (node.items as Node[]).map((item) => dataOf(item)) : undefined
}
