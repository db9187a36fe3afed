import { IconCircleCheck, IconCircleX } from '@tabler/icons-react'
import type { TestResult, TestRun } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Empty, ErrorNote } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { testsCall } from '@/domain/previewCalls'
import { plural } from '@/lib/format'
import { NotMade, Working } from './MadeByHost'
import type { Tests } from './useTests'
import { failedOf, hasPassed } from './words'
import classes from './previews.module.css'

interface TestsPanelProps {
  tests: Tests
  /** Why the tests cannot be run yet. */
  notYet: string | null
}

/** The tests of the definition: run, with what is not as expected. */
export function TestsPanel({ tests, notYet }: TestsPanelProps) {
  return (
    <Panel title="Tests" note="They run before the definition is published. Nothing is read or delivered.">
      <div className={classes.form}>
        <ReasonButton
          variant="default"
          reason={notYet ?? tests.none}
          loading={tests.pending}
          onClick={() => tests.start()}
        >
          {tests.count > 0 || tests.none ? 'Run tests' : 'Check SQL'}
        </ReasonButton>
      </div>
      {tests.error && <ErrorNote error={tests.error} />}
      {tests.pending && <Working words="Running the tests" />}
      {!tests.pending && tests.last && <Ended run={tests.last} />}
      {!tests.pending && !tests.last && !tests.error && (
        <Empty title={tests.count > 0 ? 'Not run yet' : 'No tests'}>
          {tests.count === 0 && !tests.none && 'Spark checks the SQL before the definition is published. '}
          Tests give events and say what becomes of them. Add them below the key tests of the definition, or
          save a record of a preview as a test.
        </Empty>
      )}
      <ShowCall call={testsCall()} subject="Tests" />
    </Panel>
  )
}

function Ended({ run }: { run: TestRun }) {
  if (run.error) return <NotMade error={run.error} />
  const failed = failedOf(run.tests)
  const counted = plural(run.tests.length, 'test')
  if (run.tests.length === 0) return <p role="status">Spark has found nothing wrong with the SQL.</p>
  return (
    <>
      <p role="status">{failed === 0 ? `${counted} passed.` : `${counted}, ${failed} failed.`}</p>
      <ul className={classes.tests} aria-label="Tests">
        {run.tests.map((test) => (
          <Test key={test.name} test={test} />
        ))}
      </ul>
    </>
  )
}

function Test({ test }: { test: TestResult }) {
  const passed = hasPassed(test)
  const Mark = passed ? IconCircleCheck : IconCircleX
  return (
    <li>
      <span className={classes.mark} data-passed={passed || undefined}>
        <Mark size={15} aria-hidden />
        <span className="visually-hidden">{passed ? 'Passed' : 'Failed'}</span>
      </span>{' '}
      {test.name}
      {test.failures?.map((failure) => (
        <dl key={`${failure.path} ${failure.message}`} className={classes.failure}>
          <dt>{failure.path}</dt>
          <dd>{failure.message}</dd>
          <dt>Expected</dt>
          <dd>{failure.expected ?? 'nothing'}</dd>
          <dt>Got{failure.component ? ` by ${failure.component}` : ''}</dt>
          <dd>{failure.got ?? 'nothing'}</dd>
        </dl>
      ))}
    </li>
  )
}
