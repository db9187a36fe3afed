import { Button } from '@mantine/core'
import type { DeadLettersSummary } from '@/api/types'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { count, plural } from '@/lib/format'
import classes from './deadletters.module.css'

type Cause = DeadLettersSummary['causes'][number]

/** New dead letters by cause: a hundred dead letters are seldom a hundred problems. */
export function Causes({
  summary,
  onChoose,
}: {
  summary: DeadLettersSummary
  onChoose: (cause: Cause) => void
}) {
  const settled = `${count(summary.retried)} retried, ${count(summary.discarded)} discarded`
  return (
    <Panel title="Causes" note={`${plural(summary.new, 'new dead letter')}; ${settled}`} flush>
      <Table
        label="Causes"
        maxHeight={300}
        head={
          <>
            <th>Component</th>
            <th>Cause</th>
            <th className="num">New</th>
            <th className={classes.wide}>First</th>
            <th>Last</th>
            <th>Actions</th>
          </>
        }
      >
        {summary.causes.map((cause) => (
          <tr key={`${cause.component} ${cause.cause}`}>
            <th scope="row">{cause.component}</th>
            <td className={classes.cause} title={cause.cause}>
              {cause.cause}
            </td>
            <td className="num">{count(cause.dead_letters)}</td>
            <td className={classes.wide}>
              <Moment at={cause.first_at} />
            </td>
            <td>
              <Moment at={cause.last_at} />
            </td>
            <td>
              <Button
                variant="subtle"
                size="compact-xs"
                aria-label={`Show dead letters of ${cause.component}: ${cause.cause}`}
                onClick={() => onChoose(cause)}
              >
                Show
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
