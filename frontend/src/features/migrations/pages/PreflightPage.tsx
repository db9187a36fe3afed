import {
  IconAlertTriangle,
  IconCheck,
  IconCircleX,
  IconHelpCircle,
  IconProgress,
  type Icon,
} from '@tabler/icons-react'
import type { MigrationStep } from '@/api/types'
import { ComponentPath } from '@/components/ui/ComponentPath'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { NONE } from '@/lib/format'
import { EnginePage } from '../EngineSteps'
import { preflightOf, type PreflightComponent, type PreflightEvidence } from '../evidence'
import classes from '../migrations.module.css'
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
          found
            ? `run ${found.run} on ${found.host}; it consumes nothing; ${summary(found, over)}`
            : 'the old agent keeps running'
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
const UNCHECKED: Verdict = { tone: 'held', icon: IconHelpCircle, word: 'Not checked' }
const WAIT: Verdict = { tone: 'busy', icon: IconProgress, word: 'Running' }

/** What a component's state means for the preflight. `over`: nothing more is tried. */
export function verdictOn({ state, warnings = [] }: PreflightComponent, over: boolean): Verdict {
  if (state === 'failed') return FAIL
  if (state === 'ready') return warnings.length > 0 ? WARN : PASS
  return over ? UNCHECKED : WAIT
}

/** How many components passed, have warnings and so on: `3 passed, 1 with warnings`. */
export function summary({ components }: PreflightEvidence, over: boolean): string {
  const found = components.map((component) => verdictOn(component, over))
  return [PASS, WARN, FAIL, UNCHECKED, WAIT]
    .filter((verdict) => found.includes(verdict))
    .map((verdict) => {
      const number = found.filter((each) => each === verdict).length
      return `${number} ${verdict === WARN ? 'with warnings' : verdict.word.toLowerCase()}`
    })
    .join(', ')
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
      {evidence.components.map((component) => {
        const { name, kind, type } = component
        return (
          <tr key={`${kind} ${name}`}>
            <th scope="row">
              <ComponentPath path={name} />
            </th>
            <td>
              {kind} {type}
            </td>
            <td>{evidence.host}</td>
            <td>
              <Mark verdict={verdictOn(component, over)} />
            </td>
            <td className={classes.words}>
              <Evidence component={component} over={over} />
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

/** What was found: each warning with its advice, else what the component says of itself. */
function Evidence({ component, over }: { component: PreflightComponent; over: boolean }) {
  const { state, detail, warnings = [] } = component
  if (state === 'failed' || warnings.length === 0) return detail || WORDS[state] || unchecked(over)
  return (
    <ul className={classes.warnings}>
      {warnings.map(({ code, message, suggestion }) => (
        <li key={`${code} ${message}`}>
          {message}
          <div className="dim">{suggestion}</div>
        </li>
      ))}
    </ul>
  )
}

const WORDS: Record<string, string> = {
  ready: 'Initialized and probed.',
  failed: 'The check failed.',
}

const unchecked = (over: boolean) =>
  over ? 'The preflight ended before this component was checked.' : 'Initializing.'

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
