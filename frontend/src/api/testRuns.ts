import { randomKey } from '@/lib/ids'
import { api, take } from './client'
import { ended } from './previews'
import type { TestRun } from './types'

const POLL_MS = 700
/** Longer than the server keeps a run waiting. */
const PATIENCE_MS = 11 * 60_000

/** Runs the tests of a definition on a host, and waits for their end. `team`: that of a new pipeline. */
export async function runTests(definition: string, team: string | null = null): Promise<TestRun> {
  let run = await take(
    api.POST('/api/v1/test-runs', {
      params: { header: { 'Idempotency-Key': randomKey() } },
      body: { definition, team },
    }),
  )
  const until = Date.now() + PATIENCE_MS
  while (!ended(run.state) && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    run = await take(
      api.GET('/api/v1/test-runs/{test_run_id}', { params: { path: { test_run_id: run.id } } }),
    )
  }
  return run
}
