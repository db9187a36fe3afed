import type { Evacuation } from '@/api/types'
import { plural } from '@/lib/format'

export interface Tally {
  moved: number
  moving: number
  waiting: number
  left: number
  all: number
}

/** How far an evacuation has come, by pipelines. One whose migration has ended otherwise stays, and is in `left`. */
export function tallyOf({ migrations, waiting, left }: Evacuation): Tally {
  const moved = migrations.filter(({ stage }) => stage === 'COMMITTED').length
  const moving = migrations.filter(({ open }) => open).length
  const staying = new Set([...Object.keys(left), ...failedNames(migrations)]).size
  return {
    moved,
    moving,
    waiting: waiting.length,
    left: staying,
    all: moved + moving + waiting.length + staying,
  }
}

function failedNames(migrations: Evacuation['migrations']): string[] {
  return migrations
    .filter(({ open, stage }) => !open && stage !== 'COMMITTED')
    .map(({ pipeline }) => pipeline)
}

/** The whole of it in one sentence. */
export function inOneSentence(evacuation: Evacuation): string {
  const { moved, moving, waiting, left, all } = tallyOf(evacuation)
  const parts = [
    `${moved} of ${plural(all, 'pipeline')} moved`,
    moving > 0 && `${moving} running`,
    waiting > 0 && `${waiting} waiting`,
    left > 0 && `${left} ${left === 1 ? 'stays' : 'stay'}`,
  ].filter(Boolean)
  return `${parts.join(', ')}.`
}

export const OUTCOMES: Record<string, string> = {
  done: 'Completed.',
  stopped: 'Stopped by a failure. The remaining migrations were not started.',
  cancelled: 'Cancelled. Running migrations were completed.',
}
