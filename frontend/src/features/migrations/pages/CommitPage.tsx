import { ShowCall } from '@/components/actions/ShowCall'
import { Panel } from '@/components/ui/Panel'
import { Moment } from '@/components/ui/Time'
import { watchCall } from '@/domain/migrationCalls'
import { STAGES } from '@/domain/migrations'
import { Gate } from '../EngineSteps'
import { pageState } from '../steps'
import { TimelinePanel } from '../timeline/TimelinePanel'
import classes from '../migrations.module.css'
import type { StepProps } from './props'
import { rule } from './VerifyPage'

/** The end: the change is permanent, and a revert is a migration of its own from now on. */
export function CommitPage(props: StepProps) {
  const { migration } = props
  const passed = migration.passed.find(({ stage }) => stage === 'COMMITTED')
  return (
    <>
      <Gate {...props} page="commit" />
      <Panel title={migration.open ? 'Commit' : STAGES[migration.stage].label}>
        <p className={classes.sentence}>
          {pageState(migration, 'commit') === 'done' ? (
            <>
              Committed{passed && ` by ${passed.by === 'rules' ? 'its rules' : passed.by}`} at{' '}
              <Moment at={migration.ended_at} />.
            </>
          ) : migration.open ? (
            rule(migration)
          ) : (
            STAGES[migration.stage].meaning
          )}
        </p>
      </Panel>
      <TimelinePanel migration={migration} />
      <ShowCall call={watchCall(migration)} subject="Get migration" />
    </>
  )
}
