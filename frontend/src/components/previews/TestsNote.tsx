import { plural } from '@/lib/format'
import type { Tests } from './useTests'
import { failedOf } from './words'
import classes from './previews.module.css'

/** Beside a button that runs the tests first: why it does not continue. */
export function TestsNote({ tests }: { tests: Tests }) {
  const words = tests.pending ? 'Running the tests first.' : stopped(tests)
  return (
    words && (
      <p className={tests.pending ? 'dim' : classes.outdated} role={tests.pending ? 'status' : 'alert'}>
        {words}
      </p>
    )
  )
}

function stopped({ count, error, last }: Tests): string | null {
  if (count > 0 && (error || last?.error))
    return 'The tests could not be run. The panel Tests below says why.'
  if (last?.error?.findings?.length) return 'Spark refuses SQL of the definition. The findings say where.'
  const failed = last ? failedOf(last.tests) : 0
  return failed > 0
    ? `${failed} of ${plural(count, 'test')} failed. The panel Tests below shows where.`
    : null
}
