import { Link } from '@tanstack/react-router'
import { IconChevronRight } from '@tabler/icons-react'
import { useState, type ReactNode } from 'react'
import type { AuditEntry } from '@/api/types'
import { ChangeTable } from '@/components/revisions/ChangeTable'
import { Moment } from '@/components/ui/Time'
import { count } from '@/lib/format'
import { differenceOf } from './changes'
import classes from './audit.module.css'

/** One line for each request; what it changed is behind it. */
export function AuditRows({ rows }: { rows: AuditEntry[] }) {
  return (
    <ol className={classes.rows} aria-label="Audit">
      {rows.map((row) => (
        <Row key={row.id} row={row} />
      ))}
    </ol>
  )
}

const ACCEPTED = 'accepted'

function Row({ row }: { row: AuditEntry }) {
  const [open, setOpen] = useState(false)
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className={classes.row}>
          <IconChevronRight size={14} className={classes.mark} aria-hidden />
          <span className={classes.time}>
            <Moment at={row.at} />
          </span>
          <span className={classes.actor}>{row.actor || '–'}</span>
          <span className={classes.action}>
            {row.action}
            {row.outcome !== ACCEPTED && <span className={classes.outcome}> {row.outcome}</span>}
          </span>
          <span className={classes.object}>{row.object}</span>
          <span className={classes.from}>{row.address}</span>
        </summary>
        {open && <AuditDetails row={row} linked />}
      </details>
    </li>
  )
}

interface AuditDetailsProps {
  row: AuditEntry
  /** Whether to lead to the address of the row. */
  linked?: boolean
}

/** What is known of a row, and what it changed. */
export function AuditDetails({ row, linked = false }: AuditDetailsProps) {
  const { changes, same } = differenceOf(row)
  return (
    <div className={classes.details}>
      <dl className={classes.facts}>
        <Fact name="Outcome">{row.outcome}</Fact>
        <Fact name="Pipeline">{row.pipeline && <PipelineLink name={row.pipeline} />}</Fact>
        <Fact name="Team">{row.team}</Fact>
        <Fact name="Token">{row.token && <span className="mono">{row.token}</span>}</Fact>
        <Fact name="From">{row.address}</Fact>
        <Fact name="Request">{row.request_id && <span className="mono">{row.request_id}</span>}</Fact>
        <Fact name="Row">{row.sequence === null ? 'not sealed yet' : count(row.sequence)}</Fact>
        <Fact name="Digest">{row.digest && <span className="mono">{row.digest}</span>}</Fact>
        {same.map(([path, value]) => (
          <Fact key={path} name={path}>
            {text(value)}
          </Fact>
        ))}
        {linked && (
          <Fact name="Link">
            <Link to="/audit/$id" params={{ id: String(row.id) }} preload={false}>
              Row {row.id}
            </Link>
          </Fact>
        )}
      </dl>
      {changes.length > 0 && (
        <ChangeTable
          label={`Changes of row ${row.id}`}
          changes={changes.map((change) => ({ change }))}
          before="Before"
          after="After"
        />
      )}
    </div>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return children ? (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  ) : null
}

const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function PipelineLink({ name }: { name: string }) {
  return (
    <Link to="/pipelines/$name" params={{ name }} preload={false}>
      {name}
    </Link>
  )
}
