import { act } from '@/api/operations'
import { explain, Problem } from '@/api/problem'
import type { OperationKind, Pipeline } from '@/api/types'
import { refusal } from '@/components/actions/allowed'

export type BulkKind = Extract<OperationKind, 'start' | 'pause' | 'resume' | 'stop'>

export interface BulkResult {
  name: string
  state: 'waiting' | 'accepted' | 'refused' | 'failed'
  text: string
}

/** A stop disturbs, so it is asked about once; the other actions are undone by another click. */
export function isAsked(kind: BulkKind): boolean {
  return kind === 'stop'
}

/** The pipelines that an action would change. */
export function changing(kind: BulkKind, pipelines: Pipeline[]): Pipeline[] {
  return pipelines.filter((pipeline) => refusal(pipeline, kind) === null)
}

/** Requests in flight at once; the browser keeps only six connections to a server, and the stream holds one. */
const AT_ONCE = 4

type Send = typeof act

/**
 * Asks for the same action on many pipelines and reports each result as it comes. One that may not be taken is refused
 * without a request, with the server's own reason; one failure stops nothing.
 */
export async function runBulk(
  kind: BulkKind,
  pipelines: Pipeline[],
  report: (result: BulkResult) => void,
  send: Send = act,
): Promise<void> {
  const queue = [...pipelines]
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) report(await one(kind, next, send))
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, queue.length) }, worker))
}

async function one(kind: BulkKind, pipeline: Pipeline, send: Send): Promise<BulkResult> {
  const { name } = pipeline
  const reason = refusal(pipeline, kind)
  if (reason) return { name, state: 'refused', text: reason }
  try {
    const operation = await send(name, kind)
    return { name, state: 'accepted', text: operation.message || 'Accepted.' }
  } catch (error) {
    const { text, hint } = explain(error)
    const refused = error instanceof Problem && error.status < 500
    return { name, state: refused ? 'refused' : 'failed', text: [text, hint].filter(Boolean).join(' ') }
  }
}
