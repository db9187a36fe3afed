import { Link } from '@tanstack/react-router'
import { IconMailExclamation } from '@tabler/icons-react'
import type { LedgerSummary } from '@/api/types'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { plural } from '@/lib/format'
import { ChannelRows, type Column } from './ChannelRows'
import { Verdict } from './Verdict'
import { inWords } from './words'
import classes from './ledger.module.css'

const COLUMNS: { key: Column; label: string }[] = [
  { key: 'read', label: 'Read' },
  { key: 'added', label: 'Added' },
  { key: 'delivered', label: 'Delivered' },
  { key: 'routed_elsewhere', label: 'Routed elsewhere' },
  { key: 'filtered', label: 'Filtered' },
  { key: 'unrouted', label: 'Unrouted' },
  { key: 'dead_lettered', label: 'Dead-lettered' },
  { key: 'dropped_optional', label: 'Dropped' },
  { key: 'gaps', label: 'Gaps' },
  { key: 'overlaps', label: 'Overlaps' },
  { key: 'duplicates_max', label: 'Possible duplicates' },
]
/** Shown always; the others only where one of them is not zero. */
const ALWAYS = new Set<Column>(['read', 'delivered', 'filtered', 'gaps', 'overlaps', 'duplicates_max'])

/** The ledger totals of every channel: read and added on one side, what became of it on the other. */
export function Summary({ name, ledgerTotals }: { name: string; ledgerTotals: LedgerSummary }) {
  const columns = COLUMNS.filter(
    ({ key }) => ALWAYS.has(key) || ledgerTotals.channels.some((channel) => channel[key] !== 0),
  )
  return (
    <Panel
      title="Ledger totals"
      note={<Verdict balanced={ledgerTotals.balanced} />}
      actions={<DeadLetters name={name} ledgerTotals={ledgerTotals} />}
      flush
    >
      <p
        className={classes.sentence}
        data-bad={!ledgerTotals.balanced || undefined}
        data-testid="ledger-totals"
      >
        {inWords(ledgerTotals)}
      </p>
      {ledgerTotals.channels.length === 0 ? (
        <Empty title="No batch has been delivered yet" />
      ) : (
        <Table
          label="Ledger totals by channel"
          head={
            <>
              <th>Channel</th>
              {columns.map(({ key, label }) => (
                <th key={key} className="num">
                  {label}
                </th>
              ))}
              <th className="num">Bytes delivered</th>
              <th className="num">Batches</th>
              <th>Balance</th>
            </>
          }
        >
          {ledgerTotals.channels.map((channel) => (
            <ChannelRows
              key={`${channel.source} ${channel.channel}`}
              channel={channel}
              columns={columns.map(({ key }) => key)}
            />
          ))}
        </Table>
      )}
    </Panel>
  )
}

/** Leads from the number to the dead letters themselves. */
function DeadLetters({ name, ledgerTotals }: { name: string; ledgerTotals: LedgerSummary }) {
  const number = ledgerTotals.channels.reduce(
    (sum, { dead_lettered, unrouted }) => sum + dead_lettered + unrouted,
    0,
  )
  if (number === 0) return null
  return (
    <Link to="/pipelines/$name/dead-letters" params={{ name }}>
      <ToneBadge tone="warn" icon={IconMailExclamation}>
        {plural(number, 'dead letter')}
      </ToneBadge>
    </Link>
  )
}
