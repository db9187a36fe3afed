import { isScalar, stringify, visit, Document, type Node, type YAMLMap, type YAMLSeq } from 'yaml'
import { end, entryEnd, entryOf, entryStart, isFlow, start, type Entry } from './nodes'

/** Texts of values, and the places where they are put. Nothing else of a text is touched. */

type Collection = YAMLMap | YAMLSeq

const splice = (text: string, from: number, to: number, put: string) =>
  text.slice(0, from) + put + text.slice(to)

const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1

function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at)
  return found < 0 ? text.length : found
}

const columnOf = (text: string, at: number) => at - lineStart(text, at)

/** A value on one line. */
export function inline(value: unknown, like?: Node | null): string {
  const quoted = isScalar(like) && typeof value === 'string' && like.value !== ''
  const written = stringify([value], {
    collectionStyle: 'flow',
    flowCollectionPadding: false,
    lineWidth: 0,
    ...(quoted && (like.type === 'QUOTE_DOUBLE' || like.type === 'QUOTE_SINGLE')
      ? { defaultStringType: like.type, defaultKeyType: 'PLAIN' }
      : {}),
  })
  return written.trim().slice(1, -1)
}

/** `key: value` or `- value` in block style; lists of scalars stay on one line. */
function block(entry: unknown, column: number): string {
  const document = new Document(entry)
  visit(document, {
    Seq: (_, list) => {
      if (list !== document.contents) list.flow = list.items.every((item) => isScalar(item))
    },
  })
  const written = document.toString({ lineWidth: 0, flowCollectionPadding: false })
  return written.trimEnd().replaceAll(/\n(?!\n|$)/g, `\n${' '.repeat(column)}`)
}

const entryText = (key: string | number, value: unknown, column: number) =>
  block(typeof key === 'number' ? [value] : { [key]: value }, column)

/** The text behind the colon, or behind the dash. */
function valueText(entry: Entry, value: unknown, column: number): string {
  return entry.key ? block({ k: value }, column).slice(2) : block([value], column).slice(1)
}

/** Where the value of an entry in block style may begin: behind its colon or its dash. */
function behindMark(text: string, entry: Entry): number {
  if (entry.key) return text.indexOf(':', end(entry.key)) + 1
  return text.lastIndexOf('-', start(entry.value as Node)) + 1
}

const isPlain = (value: unknown) => typeof value !== 'object' || value === null

/** Writes another value into an entry. */
export function replaced(text: string, entry: Entry, value: unknown, withinFlow: boolean): string {
  const { value: old } = entry
  const stays = old !== null && end(old) > start(old) && (withinFlow || (isPlain(value) && isScalar(old)))
  if (stays && !isBlockText(old) && (withinFlow || !isLong(value) || hasComment(text, old)))
    return splice(text, start(old), end(old), inline(value, old))
  const last = old === null ? entryEnd(entry) : contentEnd(text, old)
  if (withinFlow) {
    const colon = entry.key && text.slice(end(entry.key), last).includes(':') ? ' ' : ': '
    return splice(text, last, last, `${entry.key ? colon : ''}${inline(value, null)}`)
  }
  const mark = behindMark(text, entry)
  const column = columnOf(text, entry.key ? start(entry.key) : mark - 1)
  return splice(text, mark, Math.max(mark, last), valueText(entry, value, column))
}

const isBlockText = (node: Node) =>
  isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED')

const isLong = (value: unknown) => typeof value === 'string' && value.includes('\n')

/** Whether a comment follows on the line, which would become part of a block of text. */
const hasComment = (text: string, node: Node) => text.slice(end(node), lineEnd(text, end(node))).includes('#')

/** Where a value ends, without the line breaks that belong to a block of text. */
function contentEnd(text: string, node: Node): number {
  return start(node) + text.slice(start(node), end(node)).trimEnd().length
}

/** Puts an entry behind the one of an index; -1 puts it first. The collection has entries. */
export function inserted(
  text: string,
  parent: Collection,
  after: number,
  key: string | number,
  value: unknown,
  withinFlow: boolean,
): string {
  const flow = withinFlow || isFlow(parent)
  const neighbour = entryOf(parent, Math.max(after, 0))
  const at = after < 0 ? entryStart(neighbour) : entryEnd(neighbour)
  if (flow) {
    const own = typeof key === 'number' ? inline(value) : `${inline(key)}: ${inline(value)}`
    return splice(text, at, at, after < 0 ? `${own}, ` : `, ${own}`)
  }
  const from = ownStart(text, neighbour)
  const column = columnOf(text, from)
  const alike = typeof key === 'number' && isFlow(neighbour.value)
  const own = alike ? `- ${inline(value)}` : entryText(key, value, column)
  const pad = `\n${' '.repeat(column)}`
  if (after < 0) return splice(text, from, from, `${own}${pad}`)
  const line = lineEnd(text, blockEnd(text, neighbour))
  return splice(text, line, line, `${pad}${own}`)
}

/** Where an entry in block style begins: at its key, or at its dash. */
function ownStart(text: string, entry: Entry): number {
  return entry.key ? start(entry.key) : text.lastIndexOf('-', start(entry.value as Node))
}

function blockEnd(text: string, entry: Entry): number {
  const from = ownStart(text, entry)
  return from + text.slice(from, entryEnd(entry)).trimEnd().length
}

/** Takes out an entry that is not the only one, with the comments on its line and right above it. */
export function removed(text: string, { parent, index }: Entry, withinFlow: boolean): string {
  const own = entryOf(parent, index)
  const next = index + 1 < parent.items.length ? entryOf(parent, index + 1) : null
  if (withinFlow || isFlow(parent)) {
    if (next) return splice(text, entryStart(own), entryStart(next), '')
    return splice(text, entryEnd(entryOf(parent, index - 1)), entryEnd(own), '')
  }
  const from = ownStart(text, own)
  if (next && text.slice(lineStart(text, from), from).trim() !== '')
    return splice(text, from, ownStart(text, next), '')
  const line = lineEnd(text, blockEnd(text, own))
  return splice(text, commentsAbove(text, lineStart(text, from)), Math.min(line + 1, text.length), '')
}

/** Where the comments begin that stand right above a line, as far in as it. */
function commentsAbove(text: string, line: number): number {
  const indent = /^ */.exec(text.slice(line))?.[0] ?? ''
  let from = line
  while (from > 0) {
    const above = lineStart(text, from - 1)
    const written = text.slice(above, from)
    if (above === 0 || !written.startsWith(`${indent}#`)) break
    from = above
  }
  return from
}

/** Exchanges an entry with the next one, each with the comments above it. */
export function exchanged(text: string, parent: Collection, index: number, withinFlow: boolean): string {
  const [first, second] = [entryOf(parent, index), entryOf(parent, index + 1)]
  const places =
    withinFlow || isFlow(parent)
      ? [first, second].map((entry): [number, number] => [entryStart(entry), entryEnd(entry)])
      : [first, second].map((entry): [number, number] => {
          const from = ownStart(text, entry)
          const line = lineStart(text, from)
          const alone = text.slice(line, from).trim() === ''
          return [alone ? commentsAbove(text, line) : from, lineEnd(text, blockEnd(text, entry))]
        })
  const [[a, b], [c, d]] = places as [[number, number], [number, number]]
  const lines = [text.slice(a, b), text.slice(c, d)]
  if (a !== lineStart(text, a) && c === lineStart(text, c)) {
    // The first one stands behind the dash of a list.
    const column = ' '.repeat(columnOf(text, entryStart(second)))
    return (
      text.slice(0, a) + lines[1]!.slice(column.length) + text.slice(b, c) + column + lines[0] + text.slice(d)
    )
  }
  return text.slice(0, a) + lines[1] + text.slice(b, c) + lines[0] + text.slice(d)
}

/** Writes another key. */
export function renamed(text: string, key: Node, name: string): string {
  return splice(text, start(key), end(key), inline(name, key))
}
