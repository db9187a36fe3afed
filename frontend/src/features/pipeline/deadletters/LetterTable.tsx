import { Button } from '@mantine/core'
import { IconCheck, IconHelpCircle, IconMailExclamation, IconTrash, type Icon } from '@tabler/icons-react'
import type { DeadLetter } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { count } from '@/lib/format'
import classes from './letters.module.css'

/** Letters, one line each; their content is data and stays in the drawer. */
export function LetterTable({ letters, onShow }: { letters: DeadLetter[]; onShow: (id: string) => void }) {
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
      {letters.map((letter) => (
        <tr key={letter.id}>
          <td>
            <Moment at={letter.at} />
          </td>
          <td>
            <LetterState letter={letter} />
          </td>
          <td className={classes.component}>{letter.component}</td>
          <td className={classes.cause} title={letter.cause}>
            {letter.cause}
          </td>
          <td className={classes.wide}>{originOf(letter)}</td>
          <td className={`num ${classes.wide}`}>{count(letter.size)}</td>
          <td>
            <Button
              variant="subtle"
              size="compact-xs"
              aria-label={`Open the dead letter from ${originOf(letter)}`}
              onClick={() => onShow(letter.id)}
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
  REPLAYED: { tone: 'ok', icon: IconCheck, word: 'Retried' },
  DISCARDED: { tone: 'idle', icon: IconTrash, word: 'Discarded' },
}

export function LetterState({ letter }: { letter: DeadLetter }) {
  if (letter.operation) {
    return (
      <ToneBadge tone="busy" icon={IconMailExclamation}>
        Retrying
      </ToneBadge>
    )
  }
  if (letter.in_doubt) {
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
  const { tone, icon, word } = LOOKS[letter.state]
  return (
    <ToneBadge tone={tone} icon={icon} title={letter.settled_by && `By ${letter.settled_by}`}>
      {word}
    </ToneBadge>
  )
}
