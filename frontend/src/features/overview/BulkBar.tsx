import type { Pipeline } from '@/api/types'
import { ACTION_ICONS } from '@/components/actions/icons'
import { ACTION_WORDS } from '@/components/actions/words'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { SelectionBar } from '@/components/ui/SelectionBar'
import { count } from '@/lib/format'
import { changing, type BulkKind } from './bulk'
import { BulkDialog } from './BulkDialog'
import { useBulk } from './useBulk'

const KINDS: BulkKind[] = ['start', 'pause', 'resume', 'stop']

/** What can be done with the selected pipelines; each button says how many of them it would change. */
export function BulkBar({ chosen, onClear }: { chosen: Pipeline[]; onClear: () => void }) {
  const { job, request, confirm, close } = useBulk()
  return (
    <>
      <SelectionBar count={chosen.length} noun="pipeline" onClear={onClear}>
        {KINDS.map((kind) => (
          <BulkButton key={kind} kind={kind} chosen={chosen} onClick={() => request(kind, chosen)} />
        ))}
      </SelectionBar>
      {job && <BulkDialog job={job} onConfirm={confirm} onClose={close} />}
    </>
  )
}

function BulkButton({ kind, chosen, onClick }: { kind: BulkKind; chosen: Pipeline[]; onClick: () => void }) {
  const Shape = ACTION_ICONS[kind]
  const { verb, noun } = ACTION_WORDS[kind]
  const n = changing(kind, chosen).length
  return (
    <ReasonButton
      variant="default"
      leftSection={<Shape size={14} aria-hidden />}
      reason={n === 0 ? `${noun} is not possible for any of them now.` : null}
      onClick={onClick}
    >
      {verb} {n > 0 && count(n)}
    </ReasonButton>
  )
}
