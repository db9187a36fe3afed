import { IconAlertTriangle, IconCheck, IconCircleX, IconProgress, type Icon } from '@tabler/icons-react'
import type { MigrationStep } from '@/api/types'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { NONE } from '@/lib/format'
import { EnginePage } from '../EngineSteps'
import { preflightOf, type PreflightEvidence } from '../evidence'
import { rowsOf } from '../steps'
import type { StepProps } from './props'

/** The new agent beside the old one: every component, initialised and probed on its host. */
export function PreflightPage(props: StepProps) {
  const { migration } = props
  const found = preflightOf(migration)
  const row = rowsOf(migration, 'preflight')[0]
  const over = row?.state === 'failed'
  return (
    <EnginePage {...props} page="preflight">
      <Panel
        title="Components of the new agent"
        note={
          found ? `run ${found.run} on ${found.host}; it consumes nothing` : 'the old agent keeps running'
        }
        flush
      >
        {!found ? <Empty title="No results yet" /> : <Components evidence={found} row={row} over={over} />}
      </Panel>
    </EnginePage>
  )
}

interface Verdict {
  tone: Tone
  icon: Icon
  word: string
}

const PASS: Verdict = { tone: 'ok', icon: IconCheck, word: 'Passed' }
const WARN: Verdict = { tone: 'warn', icon: IconAlertTriangle, word: 'Warning' }
const FAIL: Verdict = { tone: 'bad', icon: IconCircleX, word: 'Failed' }
const WAIT: Verdict = { tone: 'busy', icon: IconProgress, word: 'Running' }

/** What a component's state means for the preflight. `over`: nothing more is tried. */
export function verdictOn(state: string, over: boolean): Verdict {
  if (state === 'ready') return PASS
  if (state === 'failed') return FAIL
  if (state === 'degraded') return WARN
  return over ? WARN : WAIT
}

interface ComponentsProps {
  evidence: PreflightEvidence
  row: MigrationStep | undefined
  over: boolean
}

/** The host first: whether an agent lives there at all; then every component of it. */
function Components({ evidence, row, over }: ComponentsProps) {
  return (
    <Table
      label="Preflight by component"
      head={
        <>
          <th>Component</th>
          <th>Type</th>
          <th>Host</th>
          <th>Result</th>
          <th>Evidence</th>
        </>
      }
    >
      <tr>
        <th scope="row">{evidence.host}</th>
        <td>host</td>
        <td>{evidence.host}</td>
        <td>
          <Mark verdict={onHost(row, evidence)} />
        </td>
        <td>{evidence.components.length > 0 ? 'An agent runs there and reports.' : row?.message || NONE}</td>
      </tr>
      {evidence.components.map(({ name, kind, type, state, detail }) => {
        return (
          <tr key={`${kind} ${name}`}>
            <th scope="row">{name}</th>
            <td>
              {kind} {type}
            </td>
            <td>{evidence.host}</td>
            <td>
              <Mark verdict={verdictOn(state, over)} />
            </td>
            <td>{detail || state || NONE}</td>
          </tr>
        )
      })}
    </Table>
  )
}

/** The host passes where its agent reports its components: a broken one of them is no fault of the host. */
function onHost(row: MigrationStep | undefined, { components }: PreflightEvidence): Verdict {
  if (components.length > 0 || row?.state === 'done') return PASS
  return row?.state === 'failed' ? FAIL : WAIT
}

function Mark({ verdict: { tone, icon, word } }: { verdict: Verdict }) {
  return (
    <ToneBadge tone={tone} icon={icon} plain>
      {word}
    </ToneBadge>
  )
}
