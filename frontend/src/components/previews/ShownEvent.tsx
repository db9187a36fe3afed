import { CodeBlock } from '@/components/ui/CodeBlock'

interface Event {
  key: string | null
  headers: [string, string][]
  bytes: number
  body?: string | null
  body_base64?: string
  note: '' | 'truncated' | 'withheld'
}

const NOTES = {
  '': '',
  truncated: 'The beginning of the body.',
  withheld: 'The body is not shown: its masked fields cannot be found in it.',
}

interface ShownEventProps {
  /** As the host shows it: masked, and none for those who may not see what events hold. */
  event: Record<string, unknown> | null | undefined
  label: string
}

/** Key, headers and body of an event. */
export function ShownEvent({ event, label }: ShownEventProps) {
  if (!event) return null
  const shown = event as unknown as Event
  return (
    <>
      <CodeBlock code={textOf(shown)} label={label} maxHeight={260} wrapped />
      {shown.note && <p className="dim">{NOTES[shown.note]}</p>}
    </>
  )
}

function textOf({ key, headers, body, body_base64 }: Event): string {
  const lines = [...(key === null ? [] : [`key: ${key}`]), ...headers.map((pair) => pair.join(': '))]
  return [...lines, '', body ?? body_base64 ?? ''].join('\n').trim()
}
