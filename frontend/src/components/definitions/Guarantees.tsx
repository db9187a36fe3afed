import { IconCircleCheck, IconCopy } from '@tabler/icons-react'
import type { ChannelGuarantee } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import classes from './guarantees.module.css'

/** What each channel promises of the records that it reads, with what that rests on. */
export function Guarantees({ guarantees }: { guarantees: ChannelGuarantee[] }) {
  return (
    <Table
      label="Delivery guarantees"
      head={
        <>
          <th>Channel</th>
          <th>Guarantee</th>
          <th>Conditions</th>
        </>
      }
    >
      {guarantees.map(({ source, channel, guarantee, conditions }) => (
        <tr key={`${source}.${channel}`}>
          <td>
            {source} <span aria-hidden>→</span>
            <span className="visually-hidden">to</span> {channel}
          </td>
          <td>
            <GuaranteeBadge guarantee={guarantee} />
          </td>
          <td className={classes.words}>{conditions.join(' ')}</td>
        </tr>
      ))}
    </Table>
  )
}

export function GuaranteeBadge({ guarantee }: { guarantee: ChannelGuarantee['guarantee'] }) {
  return guarantee === 'exactly_once' ? (
    <ToneBadge tone="ok" icon={IconCircleCheck}>
      Exactly once
    </ToneBadge>
  ) : (
    <ToneBadge tone="idle" icon={IconCopy}>
      At least once
    </ToneBadge>
  )
}
