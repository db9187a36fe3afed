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
      <Panel title="Requested change" note={KINDS[kind].meaning}>
        <div className={classes.form}>
          <CodeBlock code={asked(spec)} label="Requested change" maxHeight={420} />
          {open && steps.length === 0 && (
            <p className={classes.note}>
              To change this, cancel this migration and{' '}
              <Link to="/migrations/new" search={again}>
                request another one
              </Link>
              . The form is filled in with this request.
            </p>
          )}
          {!open && (
            <div>
              <Button
                variant="default"
                renderRoot={(props) => <Link to="/migrations/new" search={again} {...props} />}
              >
                Request another migration
              </Button>
            </div>
          )}
        </div>
      </Panel>
      <ShowCall call={createMigrationCall({ pipeline, kind, spec: asSent(spec), reason })} subject="Plan" />
      {plan && (
        <Panel title="Verification rules">
          <dl className={classes.facts}>
            <Fact name="Observation window" value={duration(plan.rules.window * 1_000)} />
            <Fact
              name="If all checks pass"
              value={asksToCommit(plan) ? 'request a decision' : 'commit automatically'}
            />
            <Fact
              name="If a check fails"
              value={plan.rules.otherwise === 'ask' ? 'request a decision' : 'roll back automatically'}
            />
            <Fact name="Approval gates" value={gatesInWords(plan.gates)} />
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
  return words.length > 0 ? words.join(', ').toLowerCase() : 'none'
}

/** The spec without its rules, which stand beside it. */
function asked(spec: MigrationSpec): string {
  const own = Object.entries(spec).filter(([name]) => name !== 'rules' && name !== 'gates')
  return own.length > 0 ? JSON.stringify(Object.fromEntries(own), null, 2) : 'Only the kind.'
}
