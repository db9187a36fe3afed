import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { count } from '@/lib/format'
import { componentWords, keyOf, OUTCOMES, sharesOf, shareWords, wayWords, type Way } from './ways'
import classes from './flow.module.css'

interface TableProps {
  ways: Way[]
  onSelect: (key: string) => void
}

/** The flow as a table: the same numbers for screen readers and for small widths. */
export function FlowTable({ ways, onSelect }: TableProps) {
  const share = sharesOf(ways)
  return (
    <Table
      label="What became of the records"
      head={
        <>
          <th>Outcome</th>
          <th className="num">Records</th>
          <th className="num">Share</th>
          <th>Component</th>
        </>
      }
    >
      {ways.map((way) => (
        <tr key={keyOf(way)}>
          <td>
            <button
              type="button"
              className={classes.choose}
              aria-label={wayWords(way)}
              aria-haspopup="dialog"
              data-tone={OUTCOMES[way.outcome].tone}
              onClick={() => onSelect(keyOf(way))}
            >
              {OUTCOMES[way.outcome].word}
            </button>
          </td>
          <td className="num">{count(way.records)}</td>
          <td className="num">{shareWords(share(way))}</td>
          <td>
            <span title={way.component}>{componentWords(way)}</span>{' '}
            <div className="dim">
              <SourceToChannel source={way.source} channel={way.channel} />
            </div>
          </td>
        </tr>
      ))}
    </Table>
  )
}
