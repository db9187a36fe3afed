import { Button } from '@mantine/core'
import { IconCheck, IconHelpCircle, IconMailExclamation, IconTrash, type Icon } from '@tabler/icons-react'
import type { DeadLetter } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { count } from '@/lib/format'
import classes from './deadletters.module.css'

/** Letters, one line each; their content is data and stays in the drawer. */
export function DeadLetterTable({
  deadLetters,
  onShow,
}: {
  deadLetters: DeadLetter[]
  onShow: (id: string) => void
}) {
  return (
    <Table
      label="Dead letters"
      maxHeight={520}
      head={
        <>
          <th>When</th>
          <th>State</th>
          <th>Component</th>
          <th>Cause</th>
          <th className={classes.wide}>Origin</th>
          <th className={`num ${classes.wide}`}>Bytes</th>
          <th>Content</th>
        </>
      }
    >
      {deadLetters.map((deadLetter) => (
        <tr key={deadLetter.id}>
          <td>
            <Moment at={deadLetter.at} />
          </td>
          <td>
            <DeadLetterState deadLetter={deadLetter} />
          </td>
          <td className={classes.component}>{deadLetter.component}</td>
          <td className={classes.cause} title={deadLetter.cause}>
            {deadLetter.cause}
          </td>
          <td className={classes.wide}>{originOf(deadLetter)}</td>
          <td className={`num ${classes.wide}`}>{count(deadLetter.size)}</td>
          <td>
            <Button
              variant="subtle"
              size="compact-xs"
              aria-label={`Open the dead letter from ${originOf(deadLetter)}`}
              onClick={() => onShow(deadLetter.id)}
            >
              Open
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  )
}

export function originOf({ topic, partition, offset }: DeadLetter): string {
  return `${topic}/${partition}@${offset}`
}

const LOOKS: Record<DeadLetter['state'], { tone: Tone; icon: Icon; word: string }> = {
  NEW: { tone: 'warn', icon: IconMailExclamation, word: 'New' },
  RETRIED: { tone: 'ok', icon: IconCheck, word: 'Retried' },
  DISCARDED: { tone: 'idle', icon: IconTrash, word: 'Discarded' },
}

export function DeadLetterState({ deadLetter }: { deadLetter: DeadLetter }) {
  if (deadLetter.operation) {
    return (
      <ToneBadge tone="busy" icon={IconMailExclamation}>
        Retrying
      </ToneBadge>
    )
  }
  if (deadLetter.in_doubt) {
    return (
      <ToneBadge
        tone="warn"
        icon={IconHelpCircle}
        title="A retry was interrupted. The record may have been sent."
      >
        In doubt
      </ToneBadge>
    )
  }
  const { tone, icon, word } = LOOKS[deadLetter.state]
  return (
    <ToneBadge tone={tone} icon={icon} title={deadLetter.settled_by && `By ${deadLetter.settled_by}`}>
      {word}
    </ToneBadge>
  )
}
