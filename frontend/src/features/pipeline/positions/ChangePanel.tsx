import { Select } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import type { PositionPlan, Positions } from '@/api/types'
import { missingOf, picksOf, placeOf, targetOf, type Picks } from '@/components/positions/picks'
import { PositionPicker } from '@/components/positions/PositionPicker'
import { Sums } from '@/components/positions/Sums'
import { useCount, type Count } from '@/components/positions/useCount'
import { ErrorNote } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Moment } from '@/components/ui/Time'
import { DecideDialog } from './DecideDialog'
import { Offers } from './Offers'
import classes from '@/components/positions/picker.module.css'

interface ChangeProps {
  name: string
  positions: Positions
  note: ReactNode
  /** Why nobody may change positions at all; null where this user may. */
  readOnly: string | null
  /** Why a change cannot be applied now; null where it can. */
  resting: string | null
}

/** The one table of positions: where each partition stands, where it continues, and what that does to records. */
export function ChangePanel({ name, positions, note, readOnly, resting }: ChangeProps) {
  const sources = [...new Set(positions.partitions.map(({ source }) => source))]
  const [named, setNamed] = useState<string | null>(null)
  const source = sources.length > 1 ? (named ?? sources[0]!) : null
  const rows = positions.partitions.filter((each) => source === null || each.source === source)
  const places = [...new Set(rows.map(placeOf))]
  const [picks, setPicks] = useState<Picks>({})
  const [plan, setPlan] = useState<PositionPlan | null>(null)
  const basis = rows.map(({ ledger }) => ledger).join()
  const counted = useCount(name, targetOf(picks, places), source, basis)
  const missing = places.flatMap((place) => (picks[place] && missingOf(picks[place])) ?? [])[0]
  return (
    <Panel title="Partitions" note={note} flush>
      <Offers
        offers={positions.choices}
        refused={readOnly}
        onChoose={(to) => setPicks(picksOf(to, places) ?? {})}
      />
      {source !== null && (
        <div className={classes.all}>
          <Select
            label="Source"
            data={sources}
            value={source}
            allowDeselect={false}
            onChange={(next) => {
              setNamed(next)
              setPicks({})
            }}
          />
        </div>
      )}
      <PositionPicker
        partitions={rows}
        picks={picks}
        counted={counted}
        refused={readOnly}
        onPick={setPicks}
        recordsOf={name}
      />
      <div className={classes.foot}>
        <Outcome counted={counted} />
        <div className={classes.actions}>
          {counted.state !== 'none' && (
            <ReasonButton variant="default" onClick={() => setPicks({})}>
              Leave all positions
            </ReasonButton>
          )}
          <ReasonButton
            reason={readOnly ?? missing ?? notReady(counted) ?? resting}
            onClick={() => counted.state === 'counted' && setPlan(counted.plan)}
          >
            Review change
          </ReasonButton>
        </div>
      </div>
      {plan && (
        <DecideDialog
          name={name}
          plan={plan}
          onClose={() => setPlan(null)}
          onStale={() => {
            setPlan(null)
            if (counted.state === 'counted') counted.retry()
          }}
          onApplied={() => setPicks({})}
        />
      )}
    </Panel>
  )
}

function notReady({ state }: Count): string | null {
  switch (state) {
    case 'none':
      return 'Choose a new position first.'
    case 'counting':
      return 'The effect is still being counted.'
    case 'silent':
    case 'failed':
      return 'The effect is not known.'
    case 'counted':
      return null
  }
}

/** The effect in sum, for screen readers too while it changes. */
function Outcome({ counted }: { counted: Count }) {
  return (
    <div role="status" aria-live="polite">
      {counted.state === 'none' && <span className="dim">Every partition continues where it stands.</span>}
      {counted.state === 'counting' && <span className="dim">Counting skipped and reread records…</span>}
      {counted.state === 'silent' && (
        <>
          The host did not respond within 30 s, so the effect is unknown.{' '}
          <ReasonButton size="compact-xs" variant="default" onClick={counted.retry}>
            Count again
          </ReasonButton>
        </>
      )}
      {counted.state === 'failed' && <ErrorNote error={counted.error} onRetry={counted.retry} />}
      {counted.state === 'counted' && (
        <>
          <Sums plan={counted.plan} />
          <span className="dim">
            Counted at <Moment at={new Date(counted.at).toISOString()} />, in offsets: in a compacted or
            transactional topic some of them are no records.
          </span>
        </>
      )}
    </div>
  )
}
