import type { PositionChoice } from '@/api/types'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { count } from '@/lib/format'
import { inWords } from './words'
import classes from '@/components/positions/picker.module.css'

interface OffersProps {
  offers: PositionChoice[]
  /** Why nothing may be chosen now; null where it may. */
  refused: string | null
  onChoose: (to: string) => void
}

/** Where a blocked pipeline can resume, for all partitions at once, the best first. */
export function Offers({ offers, refused, onChoose }: OffersProps) {
  if (offers.length === 0) return null
  return (
    <ul className={classes.offers} aria-label="Start positions">
      {offers.map(({ to, skip, replay, recommended, reason }) => (
        <li key={to}>
          <span>
            <strong>{inWords(to)}</strong>: skips {count(skip)}, rereads {count(replay)}
            {recommended && <div className="dim">Recommended. {reason}</div>}
          </span>
          <ReasonButton
            size="compact-xs"
            variant={recommended ? 'light' : 'default'}
            reason={refused}
            aria-label={`Choose: ${inWords(to)}`}
            onClick={() => onChoose(to)}
          >
            Choose
          </ReasonButton>
        </li>
      ))}
    </ul>
  )
}
