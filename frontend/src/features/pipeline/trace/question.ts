import type { RecordPlace, TraceRequest } from '@/api/types'
import { type Call, command } from '@/domain/calls'
import { curl, shellQuote, shellWord } from '@/domain/curl'

export type By = 'at' | 'key' | 'contains' | 'time' | 'from_sink'

/** What the form asks for, by the way in which the record is named. */
export const WAYS: Record<By, { label: string; field: string; placeholder: string }> = {
  at: { label: 'Place', field: 'Place in the source', placeholder: 'orders-in/3:120394' },
  key: { label: 'Key', field: 'Key of the record', placeholder: 'o-4711' },
  contains: { label: 'Text', field: 'Text in its body', placeholder: '"order":4711' },
  time: { label: 'Time', field: 'From this time on', placeholder: '2026-03-01T09:00:00Z' },
  from_sink: { label: 'Sink record', field: 'Place in the sink', placeholder: 'orders-out/0:88123' },
}

const PLACE = /^([^/:\s]+)\/(\d{1,15}):(\d{1,15})$/

export const written = ({ topic, partition, offset }: RecordPlace) => `${topic}/${partition}:${offset}`

/** The question as the API takes it, or what is wrong with it. */
export function questionOf(by: By, value: string): TraceRequest | string {
  const text = value.trim()
  if (text === '') return `Fill in: ${WAYS[by].field.toLowerCase()}.`
  if (by === 'key' || by === 'contains') return { [by]: value }
  if (by === 'time') {
    const at = new Date(text)
    return Number.isNaN(at.getTime())
      ? `Write a time such as ${WAYS.time.placeholder}.`
      : { time: at.toISOString() }
  }
  const found = PLACE.exec(text)
  if (!found) return `Write a place such as ${WAYS[by].placeholder}.`
  const [, topic = '', partition, offset] = found
  return { [by]: { topic, partition: Number(partition), offset: Number(offset) } }
}

/** A trace as an API call and as a command. */
export function traceCall(name: string, body: TraceRequest): Call {
  const places = (['at', 'from_sink'] as const).flatMap((way) => {
    const place = body[way]
    return place ? [`--${way.replace('_', '-')} ${shellQuote(written(place))}`] : []
  })
  const texts = (['key', 'contains', 'time'] as const).flatMap((way) => {
    const text = body[way]
    return text ? [`--${way} ${shellQuote(text)}`] : []
  })
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/traces', { path: { name }, body }),
    cli: command(['trace', shellWord(name), ...places, ...texts].join(' ')),
  }
}
