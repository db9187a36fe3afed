import { useQuery } from '@tanstack/react-query'
import { IconAlertTriangle, IconCheck, IconQuestionMark, IconX, type Icon } from '@tabler/icons-react'
import { installationQuery } from '@/api/installation'
import type { HealthCheck, Installation } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { duration, plural } from '@/lib/format'
import { ReadOnlyPanel } from './ReadOnlyPanel'
import classes from './installation.module.css'

const POLL_MS = 10_000

const STATES: Record<HealthCheck['state'], { tone: Tone; icon: Icon; word: string }> = {
  OK: { tone: 'ok', icon: IconCheck, word: 'OK' },
  WARNING: { tone: 'warn', icon: IconAlertTriangle, word: 'Warning' },
  FAILED: { tone: 'bad', icon: IconX, word: 'Failed' },
  UNKNOWN: { tone: 'idle', icon: IconQuestionMark, word: 'Unknown' },
}

const KINDS: Record<HealthCheck['kind'], string> = {
  database: 'Database',
  redis: 'Redis',
  queue: 'Queue',
  worker: 'Worker',
  broker_connection: 'Broker connection',
  disk: 'Disk',
}

/** What was checked, when, and what came of it. */
export function HealthTab() {
  const { data, error, refetch } = useQuery({ ...installationQuery, refetchInterval: POLL_MS })
  return (
    <>
      <ReadOnlyPanel />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <Panel title="Health" note={`Headgate ${data.version}, web server on ${data.host}`} flush>
          <Checks installation={data} />
        </Panel>
      )}
    </>
  )
}

function Checks({ installation: { checks } }: { installation: Installation }) {
  const workers = checks.filter(({ kind }) => kind === 'worker').length
  return (
    <Table
      label={`Checks, ${plural(workers, 'worker')}`}
      head={
        <>
          <th>Part</th>
          <th>State</th>
          <th>Result</th>
          <th className={`num ${classes.wide}`}>Time taken</th>
          <th>Checked</th>
        </>
      }
    >
      {checks.map((check) => (
        <CheckRow key={`${check.kind} ${check.subject}`} check={check} />
      ))}
    </Table>
  )
}

function CheckRow({ check }: { check: HealthCheck }) {
  const { tone, icon, word } = STATES[check.state]
  return (
    <tr>
      <th scope="row">
        {KINDS[check.kind]}
        {check.subject && <div className="mono dim">{check.subject}</div>}
      </th>
      <td>
        <ToneBadge tone={tone} icon={icon}>
          {word}
        </ToneBadge>
      </td>
      <td>
        <div className={classes.value}>{check.detail}</div>
        {check.hint && <div className={`dim ${classes.words}`}>{check.hint}</div>}
      </td>
      <td className={`num ${classes.wide}`}>{duration(check.milliseconds)}</td>
      <td>
        <Ago at={check.checked_at} />
      </td>
    </tr>
  )
}
