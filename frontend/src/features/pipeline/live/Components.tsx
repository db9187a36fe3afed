import { IconCheck, IconCircleX, IconHelpCircle, IconLoader2, type Icon } from '@tabler/icons-react'
import type { ComponentState } from '@/api/types'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import classes from './live.module.css'

const LOOKS: { states: string[]; tone: Tone; icon: Icon }[] = [
  { states: ['ready', 'ok', 'initialised', 'running', 'up'], tone: 'ok', icon: IconCheck },
  { states: ['failed', 'error', 'down'], tone: 'bad', icon: IconCircleX },
  { states: ['initialising', 'probing', 'pending', 'starting'], tone: 'busy', icon: IconLoader2 },
]

/** Every component of the graph and what it said when it was initialised and probed. */
export function Components({ components }: { components: ComponentState[] }) {
  return (
    <Panel title="Components" flush>
      {components.length === 0 ? (
        <Empty title="No component is initialized">Each component reports here during preflight.</Empty>
      ) : (
        <Table
          label="Components"
          head={
            <>
              <th>Name</th>
              <th>Kind</th>
              <th>State</th>
            </>
          }
        >
          {components.map((component) => (
            <tr key={`${component.kind} ${component.name}`}>
              <td>{component.name}</td>
              <td>
                {component.type} {component.kind}
              </td>
              <td>
                <State state={component.state} />
                {component.detail && <div className={classes.detail}>{component.detail}</div>}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}

function State({ state }: { state: string }) {
  const look = LOOKS.find(({ states }) => states.includes(state.toLowerCase()))
  return (
    <ToneBadge tone={look?.tone ?? 'idle'} icon={look?.icon ?? IconHelpCircle} plain>
      {state.toLowerCase()}
    </ToneBadge>
  )
}
