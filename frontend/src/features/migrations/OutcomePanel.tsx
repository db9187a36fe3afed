import type { Evidence, OutcomeRow } from '@/api/migrations'
import type { ShadowCounts } from '@/api/types'
import { Panel } from '@/components/ui/Panel'
import { bytes, count, NONE, percent } from '@/lib/format'
import classes from './outcome.module.css'

interface Kind {
  words: string
  show: (value: number | null) => string
  isShare?: boolean
}

const two = (value: number | null) => (value === null ? NONE : value.toFixed(2))
const OTHER: Kind = { words: '', show: two }
const KINDS: Record<string, Kind> = {
  delivered_share: { words: 'Events delivered', show: percent, isShare: true },
  filtered_share: { words: 'Events filtered', show: percent, isShare: true },
  output_per_record: { words: 'Events delivered for each record read', show: two },
  bytes_per_output: { words: 'Bytes of an event delivered', show: bytes },
}
const SIDES = [
  { name: 'present', label: 'Present revision' },
  { name: 'predicted', label: 'Predicted' },
  { name: 'found', label: 'Outcome' },
] as const

/** What becomes of records: before, as predicted, in the shadow, and as the ledger of the new agent has it. */
export function OutcomePanel({ content: { outcome, shadow } }: { content: Evidence['content'] }) {
  if (outcome.length === 0 && !shadow?.counts.records) return null
  return (
    <Panel title="Prediction, shadow and outcome">
      <div className={classes.figures}>
        {outcome.map((row) => (
          <Figure key={`${row.source} ${row.figure} ${row.component}`} row={row} />
        ))}
        {shadow && shadow.counts.records > 0 && <Shadow counts={shadow.counts} />}
      </div>
    </Panel>
  )
}

function Figure({ row }: { row: OutcomeRow }) {
  const { words, show, isShare } = KINDS[row.figure] ?? { ...OTHER, words: row.figure }
  const values = SIDES.map(({ name }) => row[name] ?? 0)
  return (
    <Bars
      name={words}
      of={row.component || row.source}
      top={isShare ? 1 : Math.max(...values, 0)}
      bars={SIDES.map(({ name, label }) => ({ name, label, value: row[name], words: show(row[name]) }))}
    />
  )
}

/** Shares of the events that both revisions have made of the same records. */
function Shadow({ counts }: { counts: ShadowCounts }) {
  const { identical, different, only_old, only_new, records } = counts
  const events = identical + different + only_old + only_new
  const bar = (label: string, value: number) => ({
    name: 'shadow',
    label,
    value,
    words: `${count(value)} (${percent(events > 0 ? value / events : null)})`,
  })
  return (
    <Bars
      name="Shadow comparison"
      of={`${count(records)} records`}
      top={events}
      bars={[
        bar('Identical', identical),
        bar('Different', different),
        bar('Only the old revision', only_old),
        bar('Only the new revision', only_new),
      ]}
    />
  )
}

interface BarsProps {
  name: string
  of: string
  top: number
  bars: { name: string; label: string; value: number | null; words: string }[]
}

/** One figure: a bar for each side, each with its number. */
function Bars({ name, of, top, bars }: BarsProps) {
  return (
    <section className={classes.figure} aria-label={`${name}, ${of}`}>
      <h3 className={classes.name}>
        {name} <span className="dim">{of}</span>
      </h3>
      <dl className={classes.bars}>
        {bars.map(({ name: side, label, value, words }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <span className={classes.track} aria-hidden>
                <span
                  className={classes.bar}
                  data-side={side}
                  style={{ width: `${top > 0 ? (100 * (value ?? 0)) / top : 0}%` }}
                />
              </span>
              <span className={classes.value}>{words}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
