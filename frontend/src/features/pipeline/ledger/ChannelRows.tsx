import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { useState } from 'react'
import type { ChannelLedgerTotals } from '@/api/types'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { bytes, count, plural } from '@/lib/format'
import { partsOf } from './parts'
import { Verdict } from './Verdict'
import classes from './ledger.module.css'

export type Column = keyof ChannelLedgerTotals

/** The sums of a channel and, where a user asks for them, their parts by component. */
export function ChannelRows({ channel, columns }: { channel: ChannelLedgerTotals; columns: Column[] }) {
  const [open, setOpen] = useState(false)
  const parts = partsOf(channel)
  const Chevron = open ? IconChevronDown : IconChevronRight
  return (
    <>
      <tr>
        <th scope="row">
          <SourceToChannel source={channel.source} channel={channel.channel} />
          {parts.length > 0 && (
            <button
              type="button"
              className={classes.toggle}
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            >
              <Chevron size={12} aria-hidden /> By component
            </button>
          )}
        </th>
        {columns.map((key) => (
          <td key={key} className="num" data-bad={isBad(key, channel) || undefined}>
            {count(channel[key] as number)}
          </td>
        ))}
        <td className="num">
          {bytes(channel.delivered_bytes)}
          <NotCounted records={channel.delivered_without_bytes} />
        </td>
        <td className="num">{count(channel.batches)}</td>
        <td>
          <Verdict balanced={channel.balanced} />
        </td>
      </tr>
      {open &&
        parts.map(({ name, detail, counts }) => (
          <tr key={`${name} ${detail}`} className={classes.part}>
            <th scope="row">
              {name} <span className="dim">{detail}</span>
            </th>
            {columns.map((key) => (
              <td key={key} className="num">
                {counts[key] ? count(counts[key]) : ''}
              </td>
            ))}
            <td />
            <td />
            <td />
          </tr>
        ))}
    </>
  )
}

/** Delivered records whose bytes were not counted. */
function NotCounted({ records }: { records: number }) {
  if (records === 0) return null
  return <div className="dim">{plural(records, 'record')} not counted</div>
}

function isBad(key: Column, channel: ChannelLedgerTotals): boolean {
  return (key === 'gaps' || key === 'overlaps') && channel[key] !== 0
}
