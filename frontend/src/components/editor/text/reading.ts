import { isMap, LineCounter, parseDocument, type Document } from 'yaml'
import type { Mapping } from './values'

/** A text as YAML: `value` is empty where there is a `problem`. */
export interface Reading {
  text: string
  document: Document
  value: Mapping
  problem: { message: string; line: number | null } | null
}

let last: Reading | null = null

/** Reads a text; the same text again costs nothing. */
export function read(text: string): Reading {
  if (last?.text !== text) last = parse(text)
  return last
}

function parse(text: string): Reading {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const failed = (message: string, line: number | null): Reading => ({
    text,
    document,
    value: {},
    problem: { message, line },
  })
  const [error] = document.errors
  if (error) return failed(sentence(error.message), lines.linePos(error.pos[0]).line || null)
  const { contents } = document
  if (contents !== null && !isMap(contents) && text.trim() !== '')
    return failed('A definition is a mapping of keys to values.', 1)
  try {
    return { text, document, value: (document.toJS() ?? {}) as Mapping, problem: null }
  } catch (refused) {
    return failed(sentence(refused instanceof Error ? refused.message : String(refused)), null)
  }
}

const sentence = (message: string) => (message.endsWith('.') ? message : `${message}.`)
