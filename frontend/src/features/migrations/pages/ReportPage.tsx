import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { IconDownload, IconFileText } from '@tabler/icons-react'
import { type Evidence, type EvidencePlace, evidenceAddress, evidenceQuery } from '@/api/migrations'
import type { MigrationDetail } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Copy } from '@/components/ui/CodeBlock'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { SourceToChannel } from '@/components/ui/SourceToChannel'
import { Table } from '@/components/ui/Table'
import { evidenceCall } from '@/domain/migrationCalls'
import { STAGES } from '@/domain/migrations'
import { count, duration, NONE } from '@/lib/format'
import { usePollInterval } from '@/lib/live/LiveProvider'
import classes from '../migrations.module.css'
import { OutcomePanel } from '../OutcomePanel'
import { TimelinePanel } from '../timeline/TimelinePanel'
import type { StepProps } from './props'

/** The evidence: where it stopped and started, the ledger totals, the measured delivery pause, with a digest over all of it. */
export function ReportPage({ migration }: StepProps) {
  const poll = usePollInterval()
  const { data, error, refetch } = useQuery({
    ...evidenceQuery(migration.id),
    refetchInterval: migration.open ? poll : false,
    enabled: migration.plan !== null,
  })
  if (error && !data) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return migration.plan ? <Loading /> : <Empty title="There is no report yet" />
  return (
    <>
      <Panel title="Report" note={migration.open ? 'in progress' : undefined}>
        <div className={classes.form}>
          <Figures evidence={data} />
          <Downloads migration={migration} />
          <div className={classes.choice}>
            <span className={classes.evidence}>SHA-256 {data.sha256}</span>
            <Copy text={data.sha256} label="SHA-256 of the report" />
          </div>
          <p className={classes.note}>
            <code>headgate migrations verify FILE</code> verifies that the JSON document is unchanged.
          </p>
          <ShowCall call={evidenceCall(migration)} subject="Report" />
        </div>
      </Panel>
      <TimelinePanel migration={migration} />
      <OutcomePanel content={data.content} />
      <Panel title="Positions" note="where the old agent stopped and its successor started" flush>
        {data.content.positions.length === 0 ? (
          <Empty title="The migration ended before its snapshot" />
        ) : (
          <Positions label="Positions in the report" rows={data.content.positions} />
        )}
      </Panel>
      {data.content.rollback && (
        <Panel title="Rollback positions" note="where the new agent stopped and its successor started" flush>
          <Positions label="Rollback positions" rows={data.content.rollback.positions} />
        </Panel>
      )}
      <Books evidence={data} />
      <Durations evidence={data} />
    </>
  )
}

function Figures({ evidence: { content } }: { evidence: Evidence }) {
  const { pause, expected, gap, overlap, rollback: back } = content
  const facts: [string, string, string][] = [
    ['Delivery pause (measured)', seconds(pause.seen), `expected ${seconds(pause.expected)}`],
    ['Records skipped', count(gap), `planned ${count(expected.skip)}`],
    ['Records reread', count(overlap), `planned ${count(expected.replay)}`],
  ]
  if (back) {
    const found = `${count(back.gap)} skipped, ${count(back.overlap)} reread`
    const open = back.duplicates_max > 0 ? `, at most ${count(back.duplicates_max)} possible duplicates` : ''
    facts.push(['Rollback pause', seconds(back.seen), found + open])
  }
  return (
    <dl className={classes.facts}>
      {facts.map(([name, value, detail]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            <div className="dim">{detail}</div>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const seconds = (value: number | null) => duration(value === null ? null : value * 1_000)

function Downloads({ migration: { id, pipeline } }: { migration: MigrationDetail }) {
  return (
    <div className={classes.downloads}>
      <Button
        component="a"
        href={evidenceAddress(id, 'json')}
        download={`migration-${pipeline}-${id}.json`}
        leftSection={<IconDownload size={14} aria-hidden />}
      >
        Download JSON
      </Button>
      <Button
        component="a"
        variant="default"
        href={evidenceAddress(id, 'html')}
        target="_blank"
        rel="noreferrer"
        leftSection={<IconFileText size={14} aria-hidden />}
      >
        Open printable report
        <span className="visually-hidden"> (in a new tab)</span>
      </Button>
    </div>
  )
}

function Positions({ label, rows }: { label: string; rows: EvidencePlace[] }) {
  const kept = rows.some((row) => row.snapshot !== undefined)
  return (
    <Table
      label={label}
      maxHeight={420}
      head={
        <>
          <th>Partition</th>
          <th className="num">Stopped at</th>
          {kept && <th className="num">Snapshot</th>}
          <th className="num">Started at</th>
          <th className="num">Gap</th>
          <th className="num">Overlap</th>
        </>
      }
    >
      {rows.map((row) => (
        <tr key={`${row.source} ${row.channel} ${row.topic} ${row.partition}`}>
          <th scope="row">
            {row.old_topic ?? row.topic}/{row.partition}
            {row.translated != null && (
              <div className="dim">
                on the new cluster {row.topic}, at {count(row.translated)}
              </div>
            )}
            <div className="dim">
              <SourceToChannel source={row.source} channel={row.channel} />
            </div>
          </th>
          <td className="num">{count(row.stopped_at)}</td>
          {kept && <td className="num">{count(row.snapshot)}</td>}
          <td className="num">{count(row.started_at)}</td>
          <td className="num">{count(row.gap)}</td>
          <td className="num">{count(row.overlap)}</td>
        </tr>
      ))}
    </Table>
  )
}

/** The counters in the order in which records meet them; what is not of the flow follows. */
const IN_ORDER = [
  'read',
  'added',
  'filtered',
  'unrouted',
  'routed_elsewhere',
  'dropped_optional',
  'dead_lettered',
  'delivered',
]

function Books({ evidence: { content } }: { evidence: Evidence }) {
  const { before, after } = content.totals
  const counted = new Set([...Object.keys(before), ...Object.keys(after)])
  const names = [...new Set([...IN_ORDER, ...counted])].filter((name) => counted.has(name))
  return (
    <Panel title="Ledger totals" note="sums of finished batches" flush>
      <Table
        label="Ledger totals before and after"
        head={
          <>
            <th>Records</th>
            <th className="num">Before</th>
            <th className="num">After</th>
          </>
        }
      >
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{name.replaceAll('_', ' ')}</th>
            <td className="num">{count(before[name])}</td>
            <td className="num">{count(after[name])}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function Durations({ evidence: { content } }: { evidence: Evidence }) {
  if (content.steps.length === 0) return null
  const rows = content.steps.map((step, place) => ({ ...step, place }))
  return (
    <Panel title="Durations" flush>
      <Table
        label="Durations by step"
        head={
          <>
            <th>Step</th>
            <th>Stage</th>
            <th className="num">Duration</th>
            <th>Outcome</th>
          </>
        }
      >
        {rows.map((row) => (
          <tr key={row.place}>
            <th scope="row">{row.step.replaceAll('_', ' ')}</th>
            <td>{STAGES[row.stage as keyof typeof STAGES]?.label ?? row.stage}</td>
            <td className="num">{seconds(row.seconds)}</td>
            <td>
              {row.state}
              <div className="dim">{row.message || NONE}</div>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
