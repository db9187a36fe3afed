import { Fragment } from 'react'
import { Empty } from '@/components/ui/Feedback'
import { hunks, lineDiff, type Line } from '@/domain/lineDiff'
import classes from './changes.module.css'

const SIGNS: Record<Line['op'], string> = { same: ' ', added: '+', removed: '−' }
const WORDS: Record<Line['op'], string> = { same: '', added: 'added', removed: 'removed' }

/** The difference of two texts line by line, with the lines around each change. */
export function TextDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const parts = hunks(lineDiff(before, after))
  if (parts.length === 0) return <Empty title="The text is the same" />
  return (
    <div className={classes.text} tabIndex={0} role="group" aria-label={label}>
      <table>
        <tbody>
          {parts.map((part, index) => (
            <Fragment key={part[0]?.before ?? `+${part[0]?.after}`}>
              {index > 0 && (
                <tr aria-hidden>
                  <td colSpan={4} className={classes.skipped}>
                    ⋯
                  </td>
                </tr>
              )}
              {part.map((line) => (
                <TextLine key={`${line.before} ${line.after}`} line={line} />
              ))}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function TextLine({ line: { op, text, before, after } }: { line: Line }) {
  return (
    <tr className={classes[op]}>
      <td className={classes.number}>{before}</td>
      <td className={classes.number}>{after}</td>
      <td className={classes.sign} aria-label={WORDS[op]}>
        {SIGNS[op]}
      </td>
      <td className={classes.line}>{text}</td>
    </tr>
  )
}
