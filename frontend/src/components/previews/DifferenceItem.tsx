import type { Difference, DifferenceSide } from '@/api/types'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { notSavable } from './savedTest'
import { ShownEvent } from './ShownEvent'
import { KINDS, placeOf, sideWords } from './words'
import classes from './previews.module.css'

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
  return (
    <div className={classes.side}>
      <div>
        <span className="dim">{label}</span> {sideWords(side)}
      </div>
      {side?.cause && <p>{side.cause}</p>}
      <ShownEvent event={side?.event} label={`${label}: event`} />
    </div>
  )
}
