import { isAlias, isMap, isPair, isSeq, parseDocument, Pair, Scalar, stringify, type Node } from 'yaml'
import { entriesAlong, entryAt, isFlow, nodeAt, nodes } from './nodes'
import { samePath, startsWith, type Path } from './paths'
import { read } from './reading'
import { exchanged, inserted, removed, renamed, replaced } from './splices'
import { isMapping, isSame, valueAt, type Mapping } from './values'

/** One change of a definition. `order`: the keys of a mapping as they are listed, for one that is new. */
export type Edit =
  | { kind: 'set'; path: Path; value: unknown; order?: readonly string[] }
  | { kind: 'remove'; path: Path }
  | { kind: 'rename'; path: Path; name: string }
  /** Exchanges an entry with the next one. */
  | { kind: 'exchange'; path: Path; index: number }

/** The text after some changes. All that they do not touch stays as it is written. The text can be read. */
export function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduce((current, edit) => once(writtenOut(current, edit.path), edit), text)
}

/** A splice is taken only when it reads as what it should be; else the document is written anew, with its comments. */
function once(text: string, edit: Edit): string {
  const { value } = read(text)
  const wanted = changed(value, edit)
  for (const attempt of [spliced, rewritten]) {
    const next = attempt(text, edit)
    const reading = next === null ? null : read(next)
    if (reading && !reading.problem && isSame(reading.value, wanted)) return reading.text
  }
  return stringify(wanted, { lineWidth: 0 })
}

/** What a change makes of data. */
export function changed(value: Mapping, edit: Edit): Mapping {
  const copy = structuredClone(value)
  const parentPath = edit.kind === 'exchange' ? edit.path : edit.path.slice(0, -1)
  const made = edit.kind === 'set' ? withParents(copy, parentPath) : copy
  const parent = valueAt(made, parentPath)
  const next = Array.isArray(parent) ? inList(parent, edit) : inMapping((parent ?? {}) as Mapping, edit)
  return put(made, parentPath, next)
}

function withParents(value: Mapping, path: Path): Mapping {
  path.forEach((_, depth) => {
    const own = path.slice(0, depth + 1)
    if (typeof valueAt(value, own) === 'object' && valueAt(value, own) !== null) return
    const parent = valueAt(value, own.slice(0, -1)) as Mapping
    parent[own.at(-1) as string] = typeof path[depth + 1] === 'number' ? [] : {}
  })
  return value
}

function put(value: Mapping, path: Path, part: unknown): Mapping {
  if (path.length === 0) return part as Mapping
  const parent = valueAt(value, path.slice(0, -1)) as Mapping
  parent[path.at(-1) as string] = part
  return value
}

function inList(list: unknown[], edit: Edit): unknown[] {
  if (edit.kind === 'exchange') {
    const [one, other] = [list[edit.index], list[edit.index + 1]]
    return list.map((item, index) => (index === edit.index ? other : index === edit.index + 1 ? one : item))
  }
  const at = Number(edit.path.at(-1))
  if (edit.kind === 'remove') return list.filter((_, index) => index !== at)
  if (edit.kind === 'rename') return list
  return at < list.length
    ? list.map((item, index) => (index === at ? edit.value : item))
    : [...list, edit.value]
}

function inMapping(mapping: Mapping, edit: Edit): Mapping {
  const entries = Object.entries(mapping)
  if (edit.kind === 'exchange') return Object.fromEntries(inList(entries, edit) as [string, unknown][])
  const key = String(edit.path.at(-1))
  if (edit.kind === 'remove') return Object.fromEntries(entries.filter(([name]) => name !== key))
  if (edit.kind === 'rename')
    return Object.fromEntries(entries.map(([name, own]) => [name === key ? edit.name : name, own]))
  if (Object.hasOwn(mapping, key)) return { ...mapping, [key]: edit.value }
  const after = placeIn(Object.keys(mapping), key, edit.order)
  return Object.fromEntries(entries.toSpliced(after + 1, 0, [key, edit.value]))
}

/** The index of the key behind which a new one is put: of those that are listed before it, the last. */
function placeIn(present: readonly string[], key: string, order: readonly string[] = []): number {
  const before = order.slice(0, Math.max(order.indexOf(key), 0))
  if (!order.includes(key)) return present.length - 1
  return present.findLastIndex((name) => before.includes(name))
}

/** The text with what is in its way written out: an alias that the path leads through, and all aliases of what is
 * changed, which would change with it. */
function writtenOut(text: string, path: Path): string {
  const { document, value } = read(text)
  const all = [...nodes(document.contents as Node | null)]
  const anchors = new Set(
    all
      .filter(({ path: own }) => startsWith(own, path) || startsWith(path, own))
      .map(({ node }) => ('anchor' in node ? node.anchor : undefined)),
  )
  const inTheWay = all.find(
    ({ node, path: own }) =>
      isAlias(node) && ((startsWith(path, own) && !samePath(path, own)) || anchors.has(node.source)),
  )
  if (!inTheWay) return text
  const next = spliced(text, { kind: 'set', path: inTheWay.path, value: valueAt(value, inTheWay.path) })
  return next === null || read(next).problem ? text : writtenOut(next, path)
}

function isWithinFlow(text: string, path: Path): boolean {
  const { document } = read(text)
  return isFlow(document.contents) || entriesAlong(document, path).some(({ value }) => isFlow(value))
}

function spliced(text: string, edit: Edit): string | null {
  const { document } = read(text)
  if (edit.kind === 'exchange') {
    const parent = nodeAt(document, edit.path)
    return isMap(parent) || isSeq(parent)
      ? exchanged(text, parent, edit.index, isWithinFlow(text, edit.path))
      : null
  }
  if (edit.kind === 'set') return set(text, edit)
  const entry = entryAt(document, edit.path)
  if (!entry) return null
  const parentPath = edit.path.slice(0, -1)
  if (edit.kind === 'rename') return entry.key && renamed(text, entry.key, edit.name)
  if (entry.parent.items.length > 1) return removed(text, entry, isWithinFlow(text, parentPath))
  return set(text, { kind: 'set', path: parentPath, value: isSeq(entry.parent) ? [] : {} })
}

function set(text: string, { path, value, order }: Extract<Edit, { kind: 'set' }>): string | null {
  const { document } = read(text)
  const parentPath = path.slice(0, -1)
  const entry = entryAt(document, path)
  if (entry) return replaced(text, entry, value, isWithinFlow(text, parentPath))
  const key = path.at(-1)
  if (key === undefined) return null
  const parent = nodeAt(document, parentPath)
  if ((isMap(parent) || isSeq(parent)) && parent.items.length > 0) {
    const after = isMap(parent)
      ? placeIn(Object.keys(valueAt(read(text).value, parentPath) as Mapping), String(key), order)
      : parent.items.length - 1
    return inserted(text, parent, after, key, value, isWithinFlow(text, parentPath))
  }
  const whole = typeof key === 'number' ? [value] : { [key]: value }
  if (parentPath.length > 0) return set(text, { kind: 'set', path: parentPath, value: whole, order })
  return stringify(whole, { lineWidth: 0 }) + text.replace(/^\s*(\{\s*\}|---)\s*$/m, '')
}

/** The document after a change, written anew: comments stay, spacing may not. */
function rewritten(text: string, edit: Edit): string | null {
  const document = parseDocument(text)
  if (edit.kind === 'set') document.setIn(edit.path, document.createNode(edit.value))
  else if (edit.kind === 'remove') document.deleteIn(edit.path)
  else if (edit.kind === 'rename') {
    const pair = entryAt(document, edit.path)
    const item = pair?.parent.items[pair.index]
    if (isPair(item)) item.key = new Scalar(edit.name)
  } else {
    const parent = nodeAt(document, edit.path)
    if (!isMap(parent) && !isSeq(parent)) return null
    const items = parent.items as (Pair | Node)[]
    items.splice(edit.index, 2, items[edit.index + 1]!, items[edit.index]!)
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

/** Whether a path leads to something that is written. */
export const isWritten = (value: unknown, path: Path) =>
  path.length === 0 || keyIn(valueAt(value, path.slice(0, -1)), path.at(-1)!)

function keyIn(parent: unknown, part: string | number): boolean {
  if (Array.isArray(parent)) return Number(part) < parent.length
  return isMapping(parent) && Object.hasOwn(parent, part)
}
