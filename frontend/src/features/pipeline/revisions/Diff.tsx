import { useQuery } from '@tanstack/react-query'
import { IconEdit, IconMinus, IconPlus, type Icon } from '@tabler/icons-react'
import { diffQuery } from '@/api/revisions'
import type { Change } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import classes from './diff.module.css'

const OPS: Record<Change['op'], { tone: Tone; icon: Icon; word: string }> = {
  add: { tone: 'ok', icon: IconPlus, word: 'added' },
  remove: { tone: 'bad', icon: IconMinus, word: 'removed' },
  change: { tone: 'warn', icon: IconEdit, word: 'changed' },
}

/** The difference of two revisions by meaning: one line for each key that differs. */
export function Diff({ name, from, to }: { name: string; from: number; to: number }) {
  const { data, error, refetch } = useQuery(diffQuery(name, from, to))
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  if (data.changes.length === 0) return <Empty title="They mean the same" />
  return (
    <Table
      label={`Revision ${from} to revision ${to}`}
      head={
        <>
          <th>Key</th>
          <th>Change</th>
          <th>Revision {from}</th>
          <th>Revision {to}</th>
        </>
      }
    >
      {data.changes.map((change) => (
        <Row key={`${change.op} ${change.path}`} change={change} />
      ))}
    </Table>
  )
}

function Row({ change }: { change: Change }) {
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
    </tr>
  )
}

function print(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
