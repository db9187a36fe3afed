import { IconEdit, IconMinus, IconPlus, type Icon } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { Change } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import classes from './changes.module.css'

const OPS: Record<Change['op'], { tone: Tone; icon: Icon; word: string }> = {
  add: { tone: 'ok', icon: IconPlus, word: 'added' },
  remove: { tone: 'bad', icon: IconMinus, word: 'removed' },
  change: { tone: 'warn', icon: IconEdit, word: 'changed' },
}

interface ChangeTableProps {
  label: string
  changes: { change: Change; beside?: ReactNode }[]
  /** Heads of the columns with the old and the new values, and of what stands beside them. */
  before: string
  after: string
  beside?: string
}

/** The difference of two definitions by meaning: one line for each key that differs. */
export function ChangeTable({ label, changes, before, after, beside }: ChangeTableProps) {
  return (
    <Table
      label={label}
      head={
        <>
          <th>Key</th>
          <th>Change</th>
          <th>{before}</th>
          <th>{after}</th>
          {beside && <th>{beside}</th>}
        </>
      }
    >
      {changes.map(({ change, beside: more }) => (
        <Row key={`${change.op} ${change.path}`} change={change} beside={more} />
      ))}
    </Table>
  )
}

function Row({ change, beside }: { change: Change; beside?: ReactNode }) {
  const { tone, icon, word } = OPS[change.op]
  return (
    <tr>
      <td className="mono">{change.path}</td>
      <td>
        <ToneBadge tone={tone} icon={icon} plain>
          {word}
        </ToneBadge>
      </td>
      <td className={classes.old}>{change.op === 'add' ? '' : print(change.old)}</td>
      <td className={classes.new}>{change.op === 'remove' ? '' : print(change.new)}</td>
      {beside && <td>{beside}</td>}
    </tr>
  )
}

function print(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
