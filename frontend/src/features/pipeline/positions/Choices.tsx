import { Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { PositionChoice } from '@/api/types'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { count } from '@/lib/format'
import { inWords } from './words'
import classes from './positions.module.css'

interface ChoicesProps {
  choices: PositionChoice[]
  /** Why nothing may be decided now; null where it may. */
  reason: string | null
  onPlan: (to: string) => void
}

/** Where to resume: each choice with what it skips and rereads, and any other position. */
export function Choices({ choices, reason: refused, onPlan }: ChoicesProps) {
  return (
    <Panel
      title="Choose another position"
      note={
        choices.length > 0
          ? 'Choose a start position. Nothing is read until then.'
          : 'planned first, then applied'
      }
      flush
    >
      {choices.length > 0 && (
        <Table
          label="Start positions"
          head={
            <>
              <th>Resume at</th>
              <th className="num">Skips</th>
              <th className="num">Rereads</th>
              <th className="num">Partitions</th>
              <th>
                <span className="visually-hidden">Actions</span>
              </th>
            </>
          }
        >
          {choices.map(({ to, skip, replay, recommended, reason, partitions }) => (
            <tr key={to}>
              <th scope="row">
                {inWords(to)}
                {recommended && <div className="dim">Recommended. {reason}</div>}
              </th>
              <td className="num" data-bad={skip > 0 || undefined}>
                {count(skip)}
              </td>
              <td className="num">{count(replay)}</td>
              <td className="num">{count(partitions.length)}</td>
              <td>
                <Group justify="flex-end">
                  <ReasonButton
                    size="compact-xs"
                    variant="default"
                    reason={refused}
                    aria-label={`Plan: ${inWords(to)}`}
                    onClick={() => onPlan(to)}
                  >
                    Plan
                  </ReasonButton>
                </Group>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Other reason={refused} onPlan={onPlan} />
    </Panel>
  )
}

function Other({ reason, onPlan }: Pick<ChoicesProps, 'reason' | 'onPlan'>) {
  const [to, setTo] = useState('')
  return (
    <form
      className={classes.other}
      onSubmit={(event) => {
        event.preventDefault()
        if (reason === null && to.trim() !== '') onPlan(to.trim())
      }}
    >
      <TextInput
        label="Another position"
        description="unread, earliest, latest, ledger, group, timestamp=-30m, timestamp=2026-11-21T12:00:00Z, or offsets=TOPIC/PARTITION:OFFSET,…"
        value={to}
        onChange={(event) => setTo(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
      />
      <ReasonButton
        type="submit"
        variant="default"
        reason={reason ?? (to.trim() === '' ? 'Enter a position first.' : null)}
      >
        Plan position
      </ReasonButton>
    </form>
  )
}
