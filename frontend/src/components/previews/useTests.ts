import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { runTests } from '@/api/testRuns'
import type { TestRun } from '@/api/types'
import type { ValidationState } from '@/components/editor/useValidation'

interface Tested {
  definition: string
  team: string | null
}

/** The tests of a definition that is being written, and their last run, in which Spark checks its SQL. */
export function useTests(text: string, state: ValidationState, team: string | null = null) {
  const client = useQueryClient()
  const run = useMutation({
    mutationFn: (tested: Tested) => runTests(tested.definition, tested.team),
    // What it has found stands at its line in the editor.
    onSuccess: () => client.invalidateQueries({ queryKey: keys.validations }),
  })
  const definition = state.validation?.definition
  const count = Array.isArray(definition?.tests) ? definition.tests.length : 0
  const sql = hasSql(definition?.sources)
  const passed = async () => {
    if (count === 0 && !sql) return true
    const ended = run.mutateAsync({ definition: text, team })
    return count > 0 ? (await ended).passed === true : !refused(await ended.catch(() => null))
  }
  return {
    count,
    /** Why there is nothing to run; null where there is. */
    none: count > 0 || sql ? null : 'The definition has no tests.',
    pending: run.isPending,
    error: run.error,
    /** Null where the text has changed since. */
    last: run.variables?.definition === text ? (run.data ?? null) : null,
    start: () => run.mutate({ definition: text, team }),
    /** Whether the text may be published: once its tests have passed and Spark has refused none of its SQL. Where there
     * is only SQL and Spark cannot be asked, it may. */
    passed,
    /** Continues once it may; what kept it from that stands beside the button. */
    whenPassed: (then: () => void) =>
      void passed().then(
        (may) => may && then(),
        () => null,
      ),
  }
}

const refused = (run: TestRun | null) => (run?.error?.findings?.length ?? 0) > 0

/** Whether a source has an interceptor whose expressions Spark alone can check. */
function hasSql(sources: unknown): boolean {
  return Object.values((sources ?? {}) as Record<string, { interceptors?: { type?: string }[] }>).some(
    ({ interceptors }) => interceptors?.some(({ type }) => type === 'sql'),
  )
}

export type Tests = ReturnType<typeof useTests>
