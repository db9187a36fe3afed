import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { ledgerTotalsQuery } from '@/api/ledger'
import type { LedgerSummary, Pipeline, PipelineStatus } from '@/api/types'
import { useStaleSince } from '@/components/ui/StaleFigures'
import { Stat } from '@/components/ui/Stat'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { freshness, older } from '@/domain/freshness'
import { useNow } from '@/lib/clock'
import { between, catchUp, count, duration, NONE, rate } from '@/lib/format'
import { usePollInterval } from '@/lib/live/LiveProvider'
import classes from './pipeline.module.css'

interface StatsProps {
  pipeline: Pipeline
  status: PipelineStatus | undefined
}

/** The figures that answer "is it well": rate, lag, what is in flight, the ledger totals, the run. */
export function Stats({ pipeline, status }: StatsProps) {
  const now = useNow()
  const every = usePollInterval() / 3
  const totals = useQuery({ ...ledgerTotalsQuery(pipeline.name), refetchInterval: every })
  const ledgerTotals = totals.data
  const readAt = useStaleSince(totals, every)
  const fresh = freshness(pipeline, now)
  const { live } = pipeline
  const behind = catchUp(live.lag_records, live.records_per_second)
  return (
    <dl className={classes.stats}>
      <Stat label="Rate" value={rate(live.records_per_second)} unit="records/s" fresh={fresh} />
      <Stat
        label="Lag"
        value={count(live.lag_records)}
        unit="records"
        detail={behind && `${behind} to read`}
        fresh={fresh}
      />
      <Stat
        label="In flight"
        value={count(live.in_flight)}
        unit={live.in_flight === 1 ? 'batch' : 'batches'}
        fresh={fresh}
      />
      <Stat label="Last batch" value={<Ago at={live.last_batch_at} />} />
      <Stat
        label="Delivered"
        value={count(ledgerTotals?.delivered)}
        detail={<LedgerStatus ledgerTotals={ledgerTotals} />}
        fresh={older(fresh, readAt === null ? null : now - readAt)}
      />
      <RunStat status={status} now={now} />
      <RestartStat pipeline={pipeline} now={now} />
    </dl>
  )
}

function LedgerStatus({ ledgerTotals }: { ledgerTotals: LedgerSummary | undefined }) {
  if (!ledgerTotals || (ledgerTotals.read === 0 && ledgerTotals.balanced)) return null
  return ledgerTotals.balanced ? (
    <ToneBadge tone="ok" icon={IconCheck} plain>
      balanced
    </ToneBadge>
  ) : (
    <ToneBadge tone="bad" icon={IconAlertTriangle} plain>
      unbalanced
    </ToneBadge>
  )
}

function RunStat({ status, now }: { status: PipelineStatus | undefined; now: number }) {
  const run = status?.run
  if (!run) return <Stat label="Run" value={NONE} />
  const age = run.started_at
    ? duration((run.ended_at ? Date.parse(run.ended_at) : now) - Date.parse(run.started_at))
    : NONE
  return (
    <Stat
      label={run.ended_at ? 'Last run' : 'Run'}
      value={`#${run.number}`}
      detail={`${age} on ${run.host}`}
    />
  )
}

function RestartStat({ pipeline, now }: { pipeline: Pipeline; now: number }) {
  const { restart_count, next_restart_at } = pipeline
  const waits = next_restart_at && Date.parse(next_restart_at) > now
  const detail = waits ? `next in ${between(new Date(now).toISOString(), next_restart_at)}` : undefined
  return <Stat label="Consecutive restarts" value={count(restart_count)} detail={detail} />
}
