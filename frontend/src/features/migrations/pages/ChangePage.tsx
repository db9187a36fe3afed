import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { MigrationSpec } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { Panel } from '@/components/ui/Panel'
import { createMigrationCall } from '@/domain/migrationCalls'
import { asksToCommit, GATE_LABELS, KINDS } from '@/domain/migrations'
import { duration } from '@/lib/format'
import { asSent } from '../create/draft'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** What was asked for, and under which rules. It does not change any more; another one is asked for anew. */
export function ChangePage({ migration }: StepProps) {
  const { id, kind, pipeline, spec, plan, open, steps, reason } = migration
  const again = { pipeline, kind, from: id }
  return (
    <>
      <Panel title="What was asked for" note={KINDS[kind].meaning}>
        <div className={classes.form}>
          <CodeBlock code={asked(spec)} label="What was asked for" maxHeight={420} />
          {open && steps.length === 0 && (
            <p className={classes.note}>
              To change this, give this migration up and{' '}
              <Link to="/migrations/new" search={again}>
                ask for another one
              </Link>
              ; the form begins with what this one asked for.
            </p>
          )}
          {!open && (
            <div>
              <Button
                variant="default"
                renderRoot={(props) => <Link to="/migrations/new" search={again} {...props} />}
              >
                Ask for another one
              </Button>
            </div>
          )}
        </div>
      </Panel>
      <ShowCall call={createMigrationCall({ pipeline, kind, spec: asSent(spec), reason })} subject="Plan" />
      {plan && (
        <Panel title="Rules of the observation">
          <dl className={classes.facts}>
            <Fact name="Observed for" value={duration(plan.rules.window * 1_000)} />
            <Fact
              name="When all is well"
              value={asksToCommit(plan) ? 'a person is asked' : 'it commits by itself'}
            />
            <Fact
              name="When something is not"
              value={plan.rules.otherwise === 'ask' ? 'a person is asked' : 'it rolls back by itself'}
            />
            <Fact name="A person is asked" value={gatesInWords(plan.gates)} />
          </dl>
        </Panel>
      )}
    </>
  )
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function gatesInWords(gates: string[]): string {
  const words = gates.map((gate) => GATE_LABELS[gate as keyof typeof GATE_LABELS] ?? gate)
  return words.length > 0 ? words.join(', ').toLowerCase() : 'nowhere else'
}

/** The spec without its rules, which stand beside it. */
function asked(spec: MigrationSpec): string {
  const own = Object.entries(spec).filter(([name]) => name !== 'rules' && name !== 'gates')
  return own.length > 0 ? JSON.stringify(Object.fromEntries(own), null, 2) : 'Nothing but the kind.'
}
