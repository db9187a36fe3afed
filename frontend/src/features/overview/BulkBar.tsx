import { Button, CloseButton } from '@mantine/core'
import { useState } from 'react'
import type { Pipeline } from '@/api/types'
import { ACTION_ICONS } from '@/components/actions/icons'
import { ACTION_WORDS } from '@/components/actions/words'
import { plural } from '@/lib/format'
import type { BulkKind } from './bulk'
import { BulkDialog } from './BulkDialog'
import classes from './bulk.module.css'

const KINDS: BulkKind[] = ['pause', 'resume', 'stop']

/** Stands at the foot of the window while pipelines are chosen. */
export function BulkBar({ chosen, onClear }: { chosen: Pipeline[]; onClear: () => void }) {
  const [job, setJob] = useState<{ kind: BulkKind; pipelines: Pipeline[] } | null>(null)
  return (
    <>
      {chosen.length > 0 && (
        <div className={classes.bar} role="region" aria-label="Actions for the selected pipelines">
          <strong>{plural(chosen.length, 'pipeline')} selected</strong>
          {KINDS.map((kind) => {
            const Shape = ACTION_ICONS[kind]
            return (
              <Button
                key={kind}
                variant="default"
                leftSection={<Shape size={14} aria-hidden />}
                onClick={() => setJob({ kind, pipelines: chosen })}
              >
                {ACTION_WORDS[kind].verb}
              </Button>
            )
          })}
          <CloseButton aria-label="Clear selection" onClick={onClear} />
        </div>
      )}
      {job && <BulkDialog {...job} onClose={() => setJob(null)} />}
    </>
  )
}
