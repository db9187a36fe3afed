import type { Difference, DifferenceSide } from '@/api/types'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { notSavable } from './savedTest'
import { KINDS, placeOf, sideWords } from './words'
import classes from './previews.module.css'

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

interface DifferenceItemProps {
  found: Difference
  /** Makes a test of it, where the definition can take one. */
  onSave?: (found: Difference) => void
}

/** An event that differs: what both revisions make of it, side by side. */
export function DifferenceItem({ found, onSave }: DifferenceItemProps) {
  const place = placeOf(found)
  return (
    <article className={classes.difference} aria-label={place}>
      <div className={classes.head}>
        <strong>{place}</strong>
        <span>{found.kinds.map((kind) => KINDS[kind]).join(', ')}</span>
        {(found.components?.length ?? 0) > 0 && (
          <span className="dim">changed by {found.components?.join(', ')}</span>
        )}
        {onSave && (
          <ReasonButton
            size="compact-xs"
            variant="default"
            reason={notSavable(found)}
            onClick={() => onSave(found)}
          >
            Save as test
          </ReasonButton>
        )}
      </div>
      <Changes found={found} />
      <div className={classes.sides}>
        <Side label="Before" side={found.before ?? null} />
        <Side label="After" side={found.after ?? null} />
      </div>
    </article>
  )
}

function Changes({ found }: { found: Difference }) {
  const rows = [
    ...(found.headers ?? []).map((change) => ({ ...change, name: `header ${change.name}` })),
    ...(found.body ?? []),
  ]
  if (rows.length === 0) return null
  const head = (
    <>
      <th>Place</th>
      <th>Before</th>
      <th>After</th>
    </>
  )
  return (
    <Table label="Changed places" head={head}>
      {rows.map(({ name, before, after }) => (
        <tr key={name}>
          <td>{name || 'body'}</td>
          <td>{before ?? '-'}</td>
          <td>{after ?? '-'}</td>
        </tr>
      ))}
    </Table>
  )
}

function Side({ label, side }: { label: string; side: DifferenceSide | null }) {
  const event = side?.event as Event | null | undefined
  return (
    <div className={classes.side}>
      <div>
        <span className="dim">{label}</span> {sideWords(side)}
      </div>
      {side?.cause && <p>{side.cause}</p>}
      {event && <CodeBlock code={textOf(event)} label={`${label}: event`} maxHeight={260} />}
      {event?.note && <p className="dim">{NOTES[event.note]}</p>}
    </div>
  )
}

function textOf({ key, headers, body, body_base64 }: Event): string {
  const lines = [...(key === null ? [] : [`key: ${key}`]), ...headers.map((pair) => pair.join(': '))]
  return [...lines, '', body ?? body_base64 ?? ''].join('\n').trim()
}
