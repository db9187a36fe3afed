import { SegmentedControl, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { alertsQuery, type AlertFilter } from '@/api/alerts'
import type { Alert, Severity } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { FilterInput } from '@/components/ui/FilterInput'
import { LoadMore } from '@/components/ui/LoadMore'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { SEVERITIES } from '@/domain/severities'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { AcknowledgeDialog } from './AcknowledgeDialog'
import { AlertCards } from './AlertCards'
import { SilenceDialog } from './SilenceDialog'
import { Silences } from './Silences'
import classes from './alerts.module.css'

const ALL = 'ALL'
const STATES = [
  { value: ALL, label: 'All' },
  { value: 'OPEN', label: 'Open' },
  { value: 'ACKNOWLEDGED', label: 'Acknowledged' },
  { value: 'RESOLVED', label: 'Resolved' },
]

type Asked = { kind: 'acknowledge' | 'silence'; alert: Alert }

/** What the rules have found over all pipelines: what fires, who was told, and what was resolved lately. */
export function AlertsPage() {
  const { state, severity, label } = useSearch({ from: '/alerts' })
  const navigate = useNavigate({ from: '/alerts' })
  const [asked, setAsked] = useState<Asked | null>(null)
  const set = (search: AlertFilter) =>
    void navigate({ search: { state, severity, label, ...search }, replace: true })
  const onAsk = (kind: Asked['kind']) => (alert: Alert) => setAsked({ kind, alert })
  const list = { onAcknowledge: onAsk('acknowledge'), onSilence: onAsk('silence') }
  const narrowed = Boolean(severity ?? label)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Alerts"
        beside={<span className="dim">conditions that require action, over all pipelines</span>}
      >
        <div className={classes.filters}>
          <SegmentedControl
            aria-label="State"
            data={STATES}
            value={state ?? ALL}
            onChange={(value) => set({ state: value === ALL ? undefined : (value as Alert['state']) })}
          />
          <Select
            aria-label="Severity"
            placeholder="Every severity"
            data={Object.entries(SEVERITIES).map(([value, { word }]) => ({ value, label: word }))}
            value={severity ?? null}
            onChange={(value) => set({ severity: (value as Severity | null) ?? undefined })}
            clearable
            clearButtonProps={{ 'aria-label': 'Every severity' }}
          />
          <FilterInput
            label="Label"
            placeholder="Label, such as team:shop"
            value={label ?? ''}
            onChange={(value) => set({ label: value || undefined })}
          />
        </div>
      </PageHeader>
      {state !== 'RESOLVED' && (
        <AlertList
          title={state === 'ACKNOWLEDGED' ? 'Acknowledged' : state === 'OPEN' ? 'Open' : 'Firing'}
          empty={narrowed ? 'No alerts match' : 'No alerts fire'}
          filter={{ state, severity, label }}
          {...list}
        />
      )}
      {(state === undefined || state === 'RESOLVED') && (
        <AlertList
          title="Recently resolved"
          empty={narrowed ? 'No resolved alerts match' : 'No resolved alerts'}
          filter={{ state: 'RESOLVED', severity, label }}
          {...list}
        />
      )}
      <Silences />
      {asked?.kind === 'acknowledge' && (
        <AcknowledgeDialog alert={asked.alert} onClose={() => setAsked(null)} />
      )}
      {asked?.kind === 'silence' && <SilenceDialog alert={asked.alert} onClose={() => setAsked(null)} />}
    </div>
  )
}

interface AlertListProps {
  title: string
  empty: string
  filter: AlertFilter
  onAcknowledge: (alert: Alert) => void
  onSilence: (alert: Alert) => void
}

function AlertList({ title, empty, filter, ...asking }: AlertListProps) {
  const query = useInfiniteQuery({ ...alertsQuery(filter), refetchInterval: usePollInterval() })
  const alerts = query.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <Panel title={title} note="newest first" flush>
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data && alerts.length === 0 && (
        <Empty title={empty}>
          {filter.state !== 'RESOLVED' &&
            'An alert appears here when a rule finds a cause, and is sent to receivers.'}
        </Empty>
      )}
      {alerts.length > 0 && <AlertCards label={title} alerts={alerts} {...asking} />}
      <LoadMore query={query} />
    </Panel>
  )
}
