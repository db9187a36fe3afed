import type { DemoFault } from '@/api/types'
import { Moment } from '@/components/ui/Time'
import { between, count } from '@/lib/format'
import classes from './guide.module.css'

/** What was observed, one line for each thing that has happened. */
export function Progress({ fault }: { fault: DemoFault }) {
  const steps = [
    { label: 'Broken', at: fault.broken_at, text: fault.broken },
    {
      label: 'Noticed',
      after: after(fault.broken_at, fault.noticed_at),
      at: fault.noticed_at,
      text: fault.noticed,
    },
    { label: 'Explained', at: fault.noticed_at, text: fault.explained },
    {
      label: 'Recovered',
      after: after(fault.noticed_at, fault.recovered_at),
      at: fault.recovered_at,
      text: fault.recovered,
    },
  ].filter(({ text }) => text)
  return (
    <dl className={classes.steps}>
      {steps.map(({ label, after: delay, at, text }) => (
        <div key={label} className={classes.step}>
          <dt>
            {label} {delay ?? (label === 'Explained' ? null : <Moment at={at} />)}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
      {fault.counted && (
        <div className={classes.step}>
          <dt>Counted</dt>
          <dd data-counted>{counted(fault.counted)}</dd>
        </div>
      )}
      {fault.error && (
        <div className={classes.step} data-tone="bad">
          <dt>Failed</dt>
          <dd>{fault.error}</dd>
        </div>
      )}
    </dl>
  )
}

const after = (from: string | null, to: string | null) => (from && to ? `after ${between(from, to)}` : null)

function counted({ records, missing, duplicates, balanced }: NonNullable<DemoFault['counted']>): string {
  const ledger = balanced ? 'The ledger is balanced.' : 'The ledger is unbalanced.'
  return `${count(records)} records of the source in the sink: ${count(missing)} missing, ${count(duplicates)} duplicates. ${ledger}`
}
