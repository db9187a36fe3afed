import { isMap, isSeq, LineCounter, parseDocument, type Node } from 'yaml'
import type { Finding } from '@/api/types'

export interface Place {
  /** Offsets in the text. */
  from: number
  to: number
  /** Counted from 1. */
  line: number
}

/** `sources.shop.interceptors[1].regex` as keys and indexes. */
export function splitPath(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? key! : Number(index),
  )
}

/** Where each finding stands in the text: at its key, or at the nearest parent that exists. */
export function locate(text: string, findings: Finding[]): Map<Finding, Place> {
  const lines = new LineCounter()
  const root = parseDocument(text, { lineCounter: lines, logLevel: 'silent' }).contents as Node | null
  return new Map(
    findings.map((finding) => {
      const [from, to] = rangeOf(root, splitPath(finding.path), lineRange(text, finding.message))
      return [finding, { from, to: Math.min(to, text.length), line: lines.linePos(from).line }]
    }),
  )
}

type Range = [number, number]

function rangeOf(root: Node | null, path: (string | number)[], fallback: Range): Range {
  let node = root
  let range = fallback
  for (const part of path) {
    const step = stepInto(node, part)
    if (!step) break
    range = step.range
    node = step.node
  }
  return range
}

function stepInto(node: Node | null, part: string | number): { node: Node | null; range: Range } | null {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => String((key as { value?: unknown }).value) === String(part))
    const range = (pair?.key as Node | undefined)?.range
    return pair && range ? { node: pair.value as Node | null, range: [range[0], range[1]] } : null
  }
  if (isSeq(node)) {
    const item = node.items[Number(part)] as Node | undefined
    return item?.range ? { node: item, range: [item.range[0], item.range[1]] } : null
  }
  return null
}

/** A text that is not YAML has no keys; its finding names the line in words. */
function lineRange(text: string, message: string): Range {
  const line = Number(/line (\d+)/.exec(message)?.[1] ?? 1)
  const start = text
    .split('\n')
    .slice(0, line - 1)
    .join('\n').length
  return [Math.min(start + (line > 1 ? 1 : 0), text.length), Math.min(start + 2, text.length)]
}
