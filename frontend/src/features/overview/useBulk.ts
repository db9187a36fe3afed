import { useState } from 'react'
import type { Pipeline } from '@/api/types'
import { ACTION_WORDS } from '@/components/actions/words'
import { announce } from '@/components/ui/Announcer'
import { changing, isAsked, runBulk, type BulkKind, type BulkResult } from './bulk'

export interface BulkJob {
  kind: BulkKind
  pipelines: Pipeline[]
  /** Those that the action changes, as it was asked for. */
  affected: Pipeline[]
  /** By pipeline; null before the user has confirmed it. */
  results: ReadonlyMap<string, BulkResult> | null
  busy: boolean
}

const asked = (kind: BulkKind, pipelines: Pipeline[]) => ({
  kind,
  pipelines,
  affected: changing(kind, pipelines),
})

/** The one bulk action that is asked about, under way, or done. */
export function useBulk() {
  const [job, setJob] = useState<BulkJob | null>(null)
  const start = async (kind: BulkKind, pipelines: Pipeline[]) => {
    setJob({ ...asked(kind, pipelines), results: new Map(), busy: true })
    await runBulk(kind, pipelines, (result) =>
      setJob((old) => old && { ...old, results: new Map(old.results).set(result.name, result) }),
    )
    setJob((old) => old && { ...old, busy: false })
    announce(`${ACTION_WORDS[kind].verb}: every request is answered.`)
  }
  return {
    job,
    request: (kind: BulkKind, pipelines: Pipeline[]) => {
      if (isAsked(kind)) setJob({ ...asked(kind, pipelines), results: null, busy: false })
      else void start(kind, pipelines)
    },
    confirm: () => job && void start(job.kind, job.pipelines),
    close: () => setJob(null),
  }
}
