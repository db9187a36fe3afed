import type { PeekRequest } from '@/api/types'
import { type Call, command } from '@/domain/calls'
import { curl, shellQuote, shellWord } from '@/domain/curl'

export type From = 'newest' | 'offset' | 'time'

/** What the form holds, as it is typed. */
export interface Typed {
  of: string
  topic: string
  partition: string
  from: From
  start: string
  key: string
  contains: string
  limit: string
}

const MOST = 200
const NUMBER = /^\d{1,15}$/

/** The question as the API takes it, or what is wrong with it. */
export function questionOf(typed: Typed): PeekRequest | string {
  const [topic, partition, start] = [typed.topic, typed.partition, typed.start].map((each) => each.trim())
  if (!typed.of) return 'Choose what to read.'
  if (partition && !NUMBER.test(partition)) return 'Write the partition as a number.'
  const limit = Number(typed.limit)
  if (!NUMBER.test(typed.limit.trim()) || limit < 1 || limit > MOST)
    return `Show between 1 and ${MOST} records.`
  const begin = beginOf(typed.from, start ?? '')
  if (typeof begin === 'string') return begin
  return {
    of: typed.of,
    ...(topic && { topic }),
    ...(partition && { partition: Number(partition) }),
    ...begin,
    ...(typed.key && { key: typed.key }),
    ...(typed.contains && { contains: typed.contains }),
    limit,
  }
}

function beginOf(from: From, start: string): Partial<PeekRequest> | string {
  if (from === 'newest') return {}
  if (from === 'offset')
    return NUMBER.test(start) ? { offset: Number(start) } : 'Write an offset such as 120394.'
  const at = new Date(start)
  return start === '' || Number.isNaN(at.getTime())
    ? 'Write a time such as 2026-03-01T09:00:00Z.'
    : { time: at.toISOString() }
}

/** A peek as an API call and as a command. */
export function peekCall(name: string, body: PeekRequest): Call {
  const given = [
    ...componentOption(body.of),
    ...option('--topic', body.topic),
    ...option('--partition', body.partition),
    ...option('--offset', body.offset),
    ...option('--since', body.time),
    ...option('--key', body.key),
    ...option('--search', body.contains),
    ...option('--last', body.limit),
  ]
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/peeks', { path: { name }, body }),
    cli: command(['peek', shellWord(name), ...given].join(' ')),
  }
}

function componentOption(of: string): string[] {
  const [kind, name = ''] = of.split('.')
  if (of === 'errors.dead_letter') return ['--dead-letters']
  if (/\.(selector|interceptors\[\d+\])$/.test(of)) return [`--component ${shellQuote(of)}`]
  return [`--${kind?.slice(0, -1)} ${shellWord(name)}`]
}

const option = (name: string, value: string | number | null | undefined): string[] =>
  value === null || value === undefined || value === '' ? [] : [`${name} ${shellQuote(String(value))}`]
