import { useMutation } from '@tanstack/react-query'
import { runTests } from '@/api/testRuns'
import type { ValidationState } from '@/components/editor/useValidation'

interface Tested {
  definition: string
  team: string | null
}

/** The tests of a definition that is being written, and their last run. */
export function useTests(text: string, state: ValidationState, team: string | null = null) {
  const run = useMutation({ mutationFn: (tested: Tested) => runTests(tested.definition, tested.team) })
  const defined = state.validation?.definition?.tests
  const count = Array.isArray(defined) ? defined.length : 0
  return {
    count,
    pending: run.isPending,
    error: run.error,
    /** Null where the text has changed since. */
    last: run.variables?.definition === text ? (run.data ?? null) : null,
    start: () => run.mutate({ definition: text, team }),
    /** Whether the text may be published: without tests, or once they have passed. */
    passed: async () => count === 0 || (await run.mutateAsync({ definition: text, team })).passed === true,
  }
}

export type Tests = ReturnType<typeof useTests>
