import {
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import type { Path } from './paths'

/** One entry of a mapping or a list. `key` is null in a list, `value` where nothing is written. */
export interface Entry {
  parent: YAMLMap | YAMLSeq
  index: number
  key: Node | null
  value: Node | null
}

export const start = (node: Node) => node.range?.[0] ?? 0

/** Whether it is written in brackets or braces. */
export const isFlow = (node: unknown): boolean => isCollection(node) && node.flow === true

/** Where what is written ends: before comments and blank lines. */
export function end(node: Node): number {
  if (isCollection(node) && !node.flow && node.items.length > 0)
    return Math.max(start(node), entryEnd(entryOf(node as YAMLMap | YAMLSeq, node.items.length - 1)))
  return node.range?.[1] ?? 0
}

/** Where an entry begins: at its key; in a list, at its value. */
export const entryStart = ({ key, value }: Entry) => start((key ?? value) as Node)

export const entryEnd = ({ key, value }: Entry): number => (value ? end(value) : key ? end(key) : 0)

export function entryOf(parent: YAMLMap | YAMLSeq, index: number): Entry {
  const item = parent.items[index]
  if (isPair(item)) {
    const { key, value } = item as Pair<Node, Node | null>
    return { parent, index, key, value }
  }
  return { parent, index, key: null, value: item as Node }
}

/** The name of an entry's key as paths have it. */
export const nameOf = (key: Node | null) => String(isScalar(key) ? key.value : key)

function entryIn(node: Node | null, part: string | number): Entry | null {
  if (isSeq(node)) {
    const index = Number(part)
    return typeof part === 'number' && index < node.items.length ? entryOf(node, index) : null
  }
  if (!isMap(node)) return null
  const index = node.items.findIndex((pair) => nameOf(pair.key as Node) === String(part))
  return index < 0 ? null : entryOf(node, index)
}

/** The entries along a path, as far as they are in the text. Aliases are not followed. */
export function entriesAlong(document: Document, path: Path): Entry[] {
  const found: Entry[] = []
  let here = document.contents as Node | null
  for (const part of path) {
    const entry = entryIn(here, part)
    if (!entry) return found
    found.push(entry)
    here = entry.value
  }
  return found
}

/** The entry at a path; null where the text has none. */
export function entryAt(document: Document, path: Path): Entry | null {
  const entries = entriesAlong(document, path)
  return path.length > 0 && entries.length === path.length ? entries.at(-1)! : null
}

/** The node at a path. */
export function nodeAt(document: Document, path: Path): Node | null {
  return path.length === 0 ? (document.contents as Node | null) : (entryAt(document, path)?.value ?? null)
}

/** Every node with its path. */
export function* nodes(node: Node | null, path: Path = []): Generator<{ node: Node; path: Path }> {
  if (!node) return
  yield { node, path }
  if (isAlias(node) || !(isMap(node) || isSeq(node))) return
  for (let index = 0; index < node.items.length; index += 1) {
    const entry = entryOf(node, index)
    yield* nodes(entry.value, [...path, isMap(node) ? nameOf(entry.key) : index])
  }
}
