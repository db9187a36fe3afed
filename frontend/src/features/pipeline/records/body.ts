/** An event as the host shows it: masked, and cut. */
export interface ShownEvent {
  key: string | null
  headers: [string, string][]
  bytes: number
  body?: string | null
  body_base64?: string
  note: '' | 'truncated' | 'withheld'
}

export const placeOf = ({ topic, partition, offset }: { topic: string; partition: number; offset: number }) =>
  `${topic}/${partition}:${offset}`

export type BodyView = 'text' | 'json' | 'hex'

const PER_LINE = 16

/** The bytes that are shown of a body. */
export function bytesOf({ body, body_base64 }: ShownEvent): Uint8Array {
  if (body_base64 === undefined) return new TextEncoder().encode(body ?? '')
  return Uint8Array.from(atob(body_base64), (each) => each.charCodeAt(0))
}

/** The body as indented JSON; null where it is none. */
export function jsonOf({ body }: ShownEvent): string | null {
  try {
    return JSON.stringify(JSON.parse(body ?? ''), null, 2)
  } catch {
    return null
  }
}

/** Offset, bytes and characters, as hex dumps have them. */
export function hexOf(event: ShownEvent): string {
  const bytes = bytesOf(event)
  const lines = []
  for (let at = 0; at < bytes.length; at += PER_LINE) {
    const line = [...bytes.slice(at, at + PER_LINE)]
    const digits = line.map((each) => each.toString(16).padStart(2, '0')).join(' ')
    const signs = line.map((each) => (each > 31 && each < 127 ? String.fromCharCode(each) : '.')).join('')
    lines.push(`${at.toString(16).padStart(6, '0')}  ${digits.padEnd(PER_LINE * 3 - 1)}  ${signs}`)
  }
  return lines.join('\n')
}

/** How a body is shown first: JSON where it is, hex where it is no text. */
export function firstView(event: ShownEvent): BodyView {
  if (event.body_base64 !== undefined) return 'hex'
  return /^\s*[[{]/.test(event.body ?? '') && jsonOf(event) ? 'json' : 'text'
}

/** The beginning of a body in one line. */
export function lineOf(event: ShownEvent, tombstone: boolean): string {
  if (tombstone) return 'No value (tombstone)'
  if (event.note === 'withheld') return 'Not shown: its masked fields cannot be found in it'
  if (event.body_base64 !== undefined) return `Binary, ${event.body_base64.slice(0, 60)}`
  return (event.body ?? '').slice(0, 160)
}
