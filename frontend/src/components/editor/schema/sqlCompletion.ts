import type { Completion, CompletionSource } from '@codemirror/autocomplete'

/** A function that expressions in SQL may call. */
export interface SqlFunction {
  name: string
  signature: string
  description: string
}

const INPUTS: Completion[] = [
  { label: 'body', type: 'variable', detail: 'the body as text' },
  { label: 'headers', type: 'variable', detail: "headers['name']" },
  { label: 'json', type: 'variable', detail: 'the parsed body' },
  { label: 'key', type: 'variable', detail: "the record's key as text" },
  { label: 'timestamp', type: 'variable', detail: 'the time of the event' },
]

/** Offers the inputs and functions of expressions within interceptors of the type sql, and nothing elsewhere. */
export function sqlCompletions(functions: readonly SqlFunction[]): CompletionSource {
  const options = [...INPUTS, ...functions.map(option)]
  return (context) => {
    const word = context.matchBefore(/[A-Za-z_]\w*/)
    const from = word?.from ?? context.pos
    const text = context.state.doc.toString()
    if ((!word && !context.explicit) || isField(text, from) || !isInExpression(text, from)) return null
    return { from, options, validFor: /^\w*$/ }
  }
}

const isField = (text: string, from: number) => text[from - 1] === '.' || text[from - 1] === ':'

function option({ name, signature, description }: SqlFunction): Completion {
  return {
    label: name,
    type: 'function',
    detail: signature.slice(name.length),
    info: description,
    apply: `${name}(`,
  }
}

/** Whether a place is behind a key of an interceptor of the type sql: on its line, or in the folded text below it. */
function isInExpression(text: string, position: number): boolean {
  const lines = text.split('\n')
  const line = text.slice(0, position).split('\n').length - 1
  const before = text.slice(text.lastIndexOf('\n', position - 1) + 1, position)
  const item = itemOf(lines, line)
  if (item === null || !/^\s*(?:- )?\{? *type: *["']?sql\b/m.test(block(lines, item))) return false
  return /: /.test(before) || isFolded(lines, line)
}

function isFolded(lines: string[], line: number): boolean {
  const own = indent(lines[line] ?? '')
  const above = lines.slice(0, line).findLast((each) => each.trim() !== '' && indent(each) < own)
  return /[>|][-+]?\s*$/.test(above ?? '')
}

/** The line at which the nearest item of a list begins that holds a line. */
function itemOf(lines: string[], line: number): number | null {
  let limit = indent(lines[line] ?? '') + 1
  for (let number = line; number >= 0; number -= 1) {
    const own = lines[number] ?? ''
    if (own.trim() === '' || indent(own) >= limit) continue
    if (own.trimStart().startsWith('- ')) return number
    limit = indent(own)
    if (number < line && limit === 0) return null
  }
  return null
}

function block(lines: string[], item: number): string {
  const start = indent(lines[item] ?? '')
  const rest = lines.slice(item + 1)
  const end = rest.findIndex((own) => own.trim() !== '' && indent(own) <= start)
  return lines.slice(item, end < 0 ? undefined : item + 1 + end).join('\n')
}

const indent = (line: string) => line.length - line.trimStart().length
