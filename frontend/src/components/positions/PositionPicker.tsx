import { Group } from '@mantine/core'
import { IconAlertTriangle, IconCheck, IconHelpCircle } from '@tabler/icons-react'
import { useState, type ReactNode } from 'react'
import type { Positions } from '@/api/types'
import { Check } from '@/components/ui/Check'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count, plural } from '@/lib/format'
import { Effect } from './Effect'
import { PickField } from './PickField'
import { LEAVE, missingOf, placeOf, type Pick, type Picks } from './picks'
import { RecordsLink } from './RecordsLink'
import type { Count } from './useCount'
import classes from './picker.module.css'

type Row = Positions['partitions'][number]

interface PickerProps {
  partitions: Row[]
  picks: Picks
  counted: Count
  /** Why nothing may be picked; null where it may. */
  refused: string | null
  onPick: (picks: Picks) => void
  /** The pipeline to whose records the partitions lead. */
  recordsOf?: string
}

/** Every partition by ledger, checkpoint, group and log, and where each continues: one by one, or several at once. */
export function PositionPicker({ partitions, picks, counted, refused, onPick, recordsOf }: PickerProps) {
  const places = [...new Set(partitions.map(placeOf))]
  const [selected, setSelected] = useState<string[]>([])
  const chosen = places.filter((place) => selected.includes(place))
  const targets = chosen.length > 0 ? chosen : places
  const set = (at: string[], pick: Pick) =>
    onPick({ ...picks, ...Object.fromEntries(at.map((place) => [place, pick])) })
  const toggle = (place: string) =>
    setSelected((old) => (old.includes(place) ? old.filter((each) => each !== place) : [...old, place]))
  return (
    <>
      <div className={classes.all}>
        <Check
          label="Select all partitions"
          checked={chosen.length === places.length}
          mixed={chosen.length > 0 && chosen.length < places.length}
          onChange={() => setSelected(chosen.length === places.length ? [] : places)}
        />
        <span>{chosen.length > 0 ? `${plural(chosen.length, 'selected partition')}` : 'All partitions'}</span>
        <PickField
          of={chosen.length > 0 ? 'the selected partitions' : 'all partitions'}
          pick={common(targets.map((place) => picks[place] ?? LEAVE))}
          from={null}
          disabled={refused !== null}
          onChange={(pick) => set(targets, pick)}
        />
        {refused && <span className="dim">{refused}</span>}
      </div>
      <div className={classes.table}>
        <Table
          label="Positions by partition"
          maxHeight={520}
          head={
            <>
              <th>
                <span className="visually-hidden">Select</span>
              </th>
              <th>Partition</th>
              <th className="num">Ledger</th>
              <th className="num">Checkpoint</th>
              <th className="num">Group</th>
              <th className="num">Log start</th>
              <th className="num">Log end</th>
              <th>Verdict</th>
              <th>New position</th>
              <th>Effect</th>
            </>
          }
        >
          {partitions.map((row, index) => {
            const place = placeOf(row)
            const first = partitions.findIndex((each) => placeOf(each) === place) === index
            return (
              <tr key={`${row.source} ${row.channel} ${place}`}>
                <td>
                  {first && (
                    <Check
                      label={`Select ${place}`}
                      checked={selected.includes(place)}
                      onChange={() => toggle(place)}
                    />
                  )}
                </td>
                <th scope="row">
                  {place}
                  <div className="dim">
                    <SourceToChannel source={row.source} channel={row.channel} />
                  </div>
                  {recordsOf && <RecordsLink name={recordsOf} row={row} />}
                </th>
                <Figure head="Ledger">{row.ledger}</Figure>
                <Figure head="Checkpoint">{row.checkpoint}</Figure>
                <Figure head="Group">{row.group}</Figure>
                <Figure head="Log start">{row.log_start}</Figure>
                <Figure head="Log end">{row.log_end}</Figure>
                <td data-head="Verdict" data-wide>
                  <Verdict {...row} />
                </td>
                <td data-head="New position" data-wide>
                  {first ? (
                    <PickField
                      of={place}
                      pick={picks[place] ?? LEAVE}
                      from={row.ledger ?? row.log_start}
                      disabled={refused !== null}
                      onChange={(pick) => set([place], pick)}
                    />
                  ) : (
                    <span className="dim">as above</span>
                  )}
                </td>
                <td data-head="Effect" data-wide>
                  {missingOf(picks[place] ?? LEAVE) === null ? (
                    <Effect place={row} counted={counted} />
                  ) : (
                    <span className="dim">unknown</span>
                  )}
                </td>
              </tr>
            )
          })}
        </Table>
      </div>
    </>
  )
}

function Figure({ head, children }: { head: string; children: number | null }): ReactNode {
  return (
    <td className="num" data-head={head}>
      {count(children)}
    </td>
  )
}

/** What several partitions have in common. */
function common(picks: Pick[]): Pick {
  const [first = LEAVE] = picks
  return picks.every(({ kind, value }) => kind === first.kind && value === first.value) ? first : LEAVE
}

function Verdict({ verdict, codes }: { verdict: string; codes: string[] }) {
  if (verdict === 'AGREES') {
    return (
      <ToneBadge tone="ok" icon={IconCheck} plain>
        agrees
      </ToneBadge>
    )
  }
  if (codes.length === 0) {
    return (
      <ToneBadge tone="idle" icon={IconHelpCircle} plain>
        not inspected
      </ToneBadge>
    )
  }
  return (
    <Group gap={4}>
      {codes.map((code) => (
        <ToneBadge key={code} tone="bad" icon={IconAlertTriangle} plain>
          {code}
        </ToneBadge>
      ))}
    </Group>
  )
}
