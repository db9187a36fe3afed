import { IconAlertTriangle, IconCheck, IconCircleX, IconProgress, type Icon } from '@tabler/icons-react'
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
  const over = rowsOf(migration, 'preflight').some(({ state }) => state === 'failed')
  return (
    <EnginePage {...props} page="preflight">
      <Panel
        title="Components of the new agent"
        note={
          found
            ? `run ${found.run} on ${found.host}; it consumes nothing`
            : 'the old agent goes on working meanwhile'
        }
        flush
      >
        {!found || found.components.length === 0 ? (
          <Empty title="Nothing is reported yet" />
        ) : (
          <Components evidence={found} over={over} />
        )}
      </Panel>
    </EnginePage>
  )
}

interface Verdict {
  tone: Tone
  icon: Icon
  word: string
}

const PASS: Verdict = { tone: 'ok', icon: IconCheck, word: 'pass' }
const WARN: Verdict = { tone: 'warn', icon: IconAlertTriangle, word: 'warn' }
const FAIL: Verdict = { tone: 'bad', icon: IconCircleX, word: 'fail' }
const WAIT: Verdict = { tone: 'busy', icon: IconProgress, word: 'being tried' }

/** What a component's state means for the preflight. `over`: nothing more is tried. */
export function verdictOn(state: string, over: boolean): Verdict {
  if (state === 'ready') return PASS
  if (state === 'failed') return FAIL
  if (state === 'degraded') return WARN
  return over ? WARN : WAIT
}

function Components({ evidence, over }: { evidence: PreflightEvidence; over: boolean }) {
  return (
    <Table
      label="Preflight by component"
      head={
        <>
          <th>Component</th>
          <th>Type</th>
          <th>Host</th>
          <th>Verdict</th>
          <th>Evidence</th>
        </>
      }
    >
      {evidence.components.map(({ name, kind, type, state, detail }) => {
        const { tone, icon, word } = verdictOn(state, over)
        return (
          <tr key={`${kind} ${name}`}>
            <th scope="row">{name}</th>
            <td>
              {kind} {type}
            </td>
            <td>{evidence.host}</td>
            <td>
              <ToneBadge tone={tone} icon={icon} plain>
                {word}
              </ToneBadge>
            </td>
            <td>{detail || state || NONE}</td>
          </tr>
        )
      })}
    </Table>
  )
}
