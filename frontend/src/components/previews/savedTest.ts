import type { Difference, PreviewResult } from '@/api/types'
import { placeOf } from './words'

/** What stands in the place of a masked value. */
const REDACTED = '[redacted]'

interface ShownEvent {
  key: string | null
  headers: [string, string][]
  body?: string | null
  body_base64?: string
  note: '' | 'truncated' | 'withheld'
}

export interface SavedTest {
  name: string
  source: string
  given: object[]
  expect: object[]
}

/** Why an event that differs cannot be a test; null where it can. */
export function notSavable(found: Difference): string | null {
  const record = found.record as ShownEvent | null | undefined
  if (!record) return 'You do not see what the record holds.'
  if (record.note || (found.after?.event as ShownEvent | null | undefined)?.note) {
    return 'The record is not shown as a whole.'
  }
  if (!found.after) return 'The definition makes no such event of the record.'
  return found.copy_number ? 'It is one of several events that are made of one record.' : null
}

/** Whether values of a test are masked. */
export const isMasked = (test: SavedTest) => JSON.stringify(test).includes(REDACTED)

/** A test that the definition makes of the record what it makes of it now. */
export function savedTest(found: Difference, { source, not_compared: volatile }: PreviewResult): SavedTest {
  const record = found.record as unknown as ShownEvent
  const given = {
    headers: headersOf(record),
    ...(record.key === null ? {} : { key: record.key }),
    ...bodyOf(record),
  }
  return { name: `record ${placeOf(found)}`, source, given: [given], expect: [expected(found, volatile)] }
}

function expected({ after }: Difference, volatile: PreviewResult['not_compared']): object {
  if (after?.result === 'filtered') return { filtered_by: after.component }
  if (after?.result === 'dead_lettered') return { dead: after.component || true }
  if (!after || after.result === 'unrouted') return { unrouted: true }
  const event = after.event as unknown as ShownEvent
  const headers = Object.entries(headersOf(event)).filter(([name]) => !volatile.headers?.includes(name))
  return {
    channels: after.channels,
    headers: Object.fromEntries(headers),
    ...(event.key === null || volatile.key ? {} : { key: event.key }),
    ...(volatile.body ? {} : bodyOf(event)),
  }
}

/** Headers that have one value, which is text. */
function headersOf({ headers }: ShownEvent): Record<string, string> {
  const names = headers.map(([name]) => name)
  const plain = headers.filter(
    ([name, value]) => names.indexOf(name) === names.lastIndexOf(name) && !value.startsWith('base64:'),
  )
  return Object.fromEntries(plain)
}

const bodyOf = ({ body, body_base64 }: ShownEvent) =>
  body_base64 === undefined ? { body: body ?? '' } : { body_base64 }

/** The key `tests` with a list below it; the indent of its items. */
const BLOCK = /^tests:[^\S\n]*(?:#.*)?\n(?:[^\S\n]*(?:#.*)?\n)*([^\S\n]*)-/m

/** A definition's text with the test, and nothing else of it touched; null where it has to be added by hand. */
export function withTest(yaml: string, test: SavedTest): string | null {
  const [, indent] = BLOCK.exec(yaml) ?? []
  if (indent !== undefined) return yaml.replace(/^tests:.*\n/m, (line) => `${line}${itemOf(test, indent)}`)
  if (/^tests:/m.test(yaml) || yaml.trimStart().startsWith('{')) return null
  return `${yaml.replace(/\n?$/, '\n')}tests:\n${itemOf(test, '  ')}`
}

function itemOf({ name, source, given, expect }: SavedTest, indent: string): string {
  const list = (items: object[]) => items.map((item) => `      - ${JSON.stringify(item)}`)
  const lines = [
    `  - name: ${JSON.stringify(name)}`,
    `    source: ${JSON.stringify(source)}`,
    '    given:',
    ...list(given),
    '    expect:',
    ...list(expect),
  ]
  return lines.map((line) => `${indent}${line.slice(2)}\n`).join('')
}
